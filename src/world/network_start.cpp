// SPDX-License-Identifier: Apache-2.0
#include "world/network_start.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/message_tree.hpp"
#include "collectives/team_members.hpp"
#include "selion/reduction.hpp"
#include "selion/tuning.hpp"

namespace selion {
namespace detail {

bool network_start::tell(rank_context& context, const tuning_file& file) {
    if (context.host->description().kind != "fabric" || context.ranks == 1) return false;
    // All that trees know of earlier messages lies in the ranks' blocks, so who uses them later
    // goes on from here.
    const collectives::team_members everybody(context);
    collectives::message_tree messages(context, everybody);
    std::vector<std::uint64_t> told((context.ranks + 63) / 64 + 1);
    if (context.rank == context.first_mapped()) {
        told[context.rank / 64] = std::uint64_t{1} << context.rank % 64;
    }
    std::uint64_t& has_table = told.back();
    if (context.rank == 0) has_table = file.knows_networks() ? 1 : 0;
    // Each bit is set once, so a sum is as good as a disjunction.
    messages.all_reduce(reinterpret_cast<std::byte*>(told.data()), told.size(),
                        erase_reduction<std::uint64_t>(plus));
    nodes_ = collectives::node_map::of_marks(told, context.ranks);
    context.nodes = &nodes_;
    if (has_table != 0) share_rows(context, messages, file);
    return true;
}

void network_start::share_rows(rank_context& context, collectives::message_tree& messages,
                               const tuning_file& file) {
    std::string text;
    if (context.rank == 0) text = file.rows_of_network(network_name(context));
    std::uint64_t bytes = text.size();
    messages.broadcast(std::as_writable_bytes(std::span(&bytes, 1)), 0);
    if (bytes == 0) return;
    text.resize(bytes);
    messages.broadcast(std::as_writable_bytes(std::span(text)), 0);
    std::vector<std::string_view> rows;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        rows.push_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    table_ = collectives::tuning_table::of_rows(rows, network_name(context)).value();
    context.tuning = &*table_;
}

std::string network_name(const rank_context& context) {
    return fmt::format("fabric/{}/{}x{}", context.host->description().network,
                       context.nodes->nodes(), context.nodes->most());
}

}  // namespace detail

std::string tuning_machine(const world& all) {
    const detail::rank_context& context = *detail::current_context;
    if (context.nodes != nullptr) return detail::network_name(context);
    return std::string(tuning_machine(all.machine()));
}

}  // namespace selion
