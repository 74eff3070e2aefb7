// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <span>

namespace one_sided {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t most_bytes_in_all = std::uint64_t{64} << 20;
constexpr std::uint64_t most_depth = 1024;
constexpr std::size_t page_bytes = 4096;

direction read_direction(const nlohmann::ordered_json& params) {
    const auto op = study::parameter<std::string>(params, "op");
    if (op == "put") return direction::put;
    if (op == "get") return direction::get;
    throw study::bad_argument("'op' is '" + op + "'; legal: put, get.");
}

void expect_range(const char* key, std::uint64_t value, std::uint64_t most) {
    if (value >= 1 && value <= most) return;
    throw study::bad_argument("'" + std::string(key) + "' is " + std::to_string(value) +
                              "; legal: 1 to " + std::to_string(most) + ".");
}

}  // namespace

operation read_operation(const nlohmann::ordered_json& params) {
    const direction op = read_direction(params);
    const auto bytes = study::parameter<std::uint64_t>(params, "bytes");
    expect_range("bytes", bytes, most_bytes);
    if (!params.contains("depth")) return {op, bytes, 1};
    const auto depth = study::parameter<std::uint64_t>(params, "depth");
    expect_range("depth", depth, most_depth);
    if (bytes * depth > most_bytes_in_all) {
        throw study::bad_argument("'bytes' times 'depth' is " + std::to_string(bytes * depth) +
                                  "; legal: at most " + std::to_string(most_bytes_in_all) + ".");
    }
    return {op, bytes, static_cast<std::uint32_t>(depth)};
}

slots::slots(const selion::world& world, const operation& what)
    : what_(what),
      places_(selion::allocate<std::byte>(world, what.bytes * what.depth, page_bytes).on(1)),
      buffers_(what.bytes * what.depth) {}

void slots::start(std::uint32_t slot, const selion::counters& when) {
    const std::uint64_t offset = slot * what_.bytes;
    const auto place = places_ + static_cast<std::ptrdiff_t>(offset);
    const std::span<std::byte> buffer(buffers_.data() + offset, what_.bytes);
    if (are_puts()) {
        selion::put(place, buffer, when);
    } else {
        selion::get(buffer, place, when);
    }
}

}  // namespace one_sided
