// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <string>
#include <utility>

namespace multicore {
namespace {

using enum selion::collective_kind;

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

std::uint64_t doubles_of(const subject& what, std::uint32_t ranks) {
    const std::uint64_t blocks = what.what == exchange ? ranks : 1;
    return what.bytes / sizeof(double) * blocks;
}

}  // namespace

subject read_subject(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "collective");
    const auto bytes = study::parameter<std::uint64_t>(params, "bytes");
    for (const auto what : {barrier, broadcast, all_reduce, exchange}) {
        if (selion::name_of(what) != name) continue;
        const bool is_legal =
            bytes <= most_bytes && bytes % sizeof(double) == 0 && (bytes == 0) == (what == barrier);
        if (is_legal) return {what, bytes};
        throw study::bad_argument("'bytes' is " + std::to_string(bytes) +
                                  "; legal: 0 for a barrier, else multiples of 8 up to " +
                                  std::to_string(most_bytes) + ".");
    }
    throw study::bad_argument("'collective' is '" + name +
                              "'; legal: barrier, broadcast, all_reduce, exchange.");
}

selion::collective_choice choice_of(selion::collective_kind what, selion::collective_way way,
                                    std::uint32_t radix) {
    using selion::schedule_algorithm;
    if (radix == flat) return {way, {.algorithm = schedule_algorithm::flat}};
    const auto tree = what == exchange ? schedule_algorithm::bruck : schedule_algorithm::k_nomial;
    return {way, {.algorithm = tree, .radix = radix}};
}

std::span<double> shared_doubles(const selion::world& world, std::uint64_t count) {
    constexpr std::size_t page_bytes = 4096;
    if (count == 0) return {};
    return {selion::allocate<double>(world, count, page_bytes).local(), count};
}

team_call::team_call(const selion::world& world, selion::team team, const subject& what)
    : team_(std::move(team)),
      what_(what),
      own_(shared_doubles(world, doubles_of(what, team_.size()))),
      others_(what.what == exchange ? shared_doubles(world, own_.size()) : std::span<double>()) {}

void team_call::choose(std::uint32_t radix) {
    const bool is_flat = radix == flat || radix >= team_.size();
    const std::uint32_t possible = is_flat ? flat : radix;
    choose(choice_of(what_.what, selion::collective_way::lines, possible));
    by_flags_ = is_flat && what_.what != exchange && what_.bytes <= flag_bytes;
    if (!by_flags_) return;
    for (const auto part : {reduce, broadcast}) {
        team_.choose(part, selion::collective_choice{selion::collective_way::board, {}});
    }
}

void team_call::choose(const std::optional<selion::collective_choice>& how) {
    by_flags_ = false;
    team_.choose(what_.what, how);
}

void team_call::run(std::uint32_t root) const {
    char token = 0;
    const std::span<char> arrival(&token, 1);
    switch (what_.what) {
        case broadcast: return team_.broadcast(own_, root);
        case exchange: return team_.exchange(own_, others_);
        case all_reduce:
            if (!by_flags_) return team_.all_reduce(own_, selion::plus);
            team_.reduce(own_, selion::plus, 0);
            return team_.broadcast(own_, 0);
        default:
            if (!by_flags_) return team_.barrier();
            team_.reduce(arrival, selion::plus, 0);
            team_.broadcast(arrival, 0);
    }
}

}  // namespace multicore
