// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include <selion/detail/block_call.hpp>
#include <selion/detail/collective_start.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/detail/started_call.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/future.hpp>
#include <selion/rank.hpp>

namespace selion {

/// Those of `split_phase_collectives` that move blocks which differ in length. Every member is told
/// the lengths of the blocks that it sends and gets; sender and receiver give the same ones, else
/// the job ends with a sentence. Each of these is over when all members have come to it.
class split_phase_varying : protected detail::collective_start {
public:
    using block_collectives::rank;
    using block_collectives::size;

    /// @param counts of `all`, one for each member; looked at by the root alone.
    template <detail::filled_memory All>
    future<> gatherv(std::span<const detail::element_in<All>> own, All&& all,
                     std::span<const std::size_t> counts, team_rank root,
                     std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        const bool is_root = rank() == root;
        if (is_root) expect_varying("gatherv", own, to, counts, site);
        return start(detail::varying(detail::moving(collective_kind::gather, own.data(),
                                                    at(root, to.data()), own.size(), root),
                                     {}, is_root ? counts : std::span<const std::size_t>()),
                     site);
    }

    /// @param counts the same at all members.
    template <detail::filled_memory All>
    future<> all_gatherv(std::span<const detail::element_in<All>> own, All&& all,
                         std::span<const std::size_t> counts,
                         std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        expect_varying("all_gatherv", own, to, counts, site);
        return start(detail::varying(detail::moving(collective_kind::all_gather, own.data(),
                                                    to.data(), own.size(), 0),
                                     {}, counts),
                     site);
    }

    /// @param counts of `all`; looked at by the root alone.
    template <detail::filled_memory Own>
    future<> scatterv(std::span<const detail::element_in<Own>> all,
                      std::span<const std::size_t> counts, Own&& own, team_rank root,
                      std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(own);
        const bool is_root = rank() == root;
        if (is_root) expect_varying("scatterv", to, all, counts, site);
        return start(detail::varying(detail::moving(collective_kind::scatter, at(root, all.data()),
                                                    to.data(), to.size(), root),
                                     is_root ? counts : std::span<const std::size_t>(), {}),
                     site);
    }

    /// @param to_counts of the blocks of `to_each`. @param from_counts of those of `from_each`.
    /// The two do not overlap.
    template <detail::filled_memory From>
    future<> exchangev(std::span<const detail::element_in<From>> to_each,
                       std::span<const std::size_t> to_counts, From&& from_each,
                       std::span<const std::size_t> from_counts,
                       std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(from_each);
        expect_counts("exchangev", to_each.size(), to_counts, std::nullopt, site);
        expect_counts("exchangev", to.size(), from_counts, to_counts[rank()], site);
        expect_disjoint("exchangev", std::as_bytes(to_each), std::as_bytes(to), site);
        return start(detail::varying(
                         detail::moving(collective_kind::exchange, to_each.data(), to.data(), 0, 0),
                         to_counts, from_counts),
                     site);
    }

protected:
    split_phase_varying(const detail::team_view& view, std::shared_ptr<void> life) noexcept
        : collective_start(view, std::move(life)) {}
};

}  // namespace selion
