// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <selion/block_collectives.hpp>
#include <selion/detail/block_call.hpp>
#include <selion/detail/block_notices.hpp>
#include <selion/detail/composed_call.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/detail/late_memory.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/rank.hpp>
#include <selion/varying_blocks.hpp>

namespace selion {

/// Collectives of a team that move blocks of elements which differ in length.
class varying_collectives : public block_collectives {
public:
    /// `gather` of blocks that differ in length. @return at the root everybody's; elsewhere
    /// nothing.
    /// @cost an all_gather of the lengths and a gather.
    template <detail::shown_memory Own>
    [[nodiscard]] varying_blocks<detail::value_of<Own>> gatherv(
        const Own& own, team_rank root,
        std::source_location site = std::source_location::current()) const {
        const detail::composed_call whole(view(), detail::composed_call::name::gatherv, site);
        using blocks = varying_blocks<detail::value_of<Own>>;
        expect_root("gatherv", root, site);
        const auto lengths = detail::lengths(all_gather(std::size(own), site));
        const detail::late_memory<blocks> all;
        if (rank() == root) *all = blocks(lengths.starts);
        detail::block_call call =
            detail::moving(collective_kind::gather, std::data(own), at(root, all->values.data()),
                           std::size(own), root);
        call.target_starts = lengths.starts.data();
        call.most = lengths.most;
        if (lengths.most != 0) run(call, site);
        return std::move(*all);
    }

    /// `all_gather` of blocks that differ in length.
    /// @cost an all_gather of the lengths more; none where all blocks are so short that they travel
    /// with them: up to 48 bytes each, in teams of up to 64.
    template <detail::shown_memory Own>
    [[nodiscard]] varying_blocks<detail::value_of<Own>> all_gatherv(
        const Own& own, std::source_location site = std::source_location::current()) const {
        using element = detail::value_of<Own>;
        const detail::composed_call whole(view(), detail::composed_call::name::all_gatherv, site);
        const detail::late_memory<detail::block_notices> told(size(), 1u, sizeof(element));
        told->give(0, std::data(own), std::size(own), std::size(own));
        run(told->moving(collective_kind::all_gather, detail::moved_type<element>()), site);
        return received<element>(
            *told,
            detail::moving<element>(collective_kind::all_gather, std::data(own), nullptr,
                                    std::size(own), 0),
            site);
    }

    /// `scatter` of blocks that differ in length.
    /// @param all at the root: everybody's block, one behind the other. @param counts at the root:
    /// their lengths; the sum is the length of `all`. Elsewhere neither is looked at.
    /// @return the own block. @cost a broadcast of the lengths more.
    template <detail::shown_memory All>
    [[nodiscard]] std::vector<detail::value_of<All>> scatterv(
        const All& all, std::span<const std::size_t> counts, team_rank root,
        std::source_location site = std::source_location::current()) const {
        const detail::composed_call whole(view(), detail::composed_call::name::scatterv, site);
        expect_root("scatterv", root, site);
        const detail::late_memory<std::vector<std::size_t>> known(size());
        if (rank() == root) {
            expect_counts("scatterv", std::size(all), counts, std::nullopt, site);
            std::ranges::copy(counts, known->begin());
        }
        run(detail::broadcasting(std::span(*known), root), site);
        const auto lengths = detail::lengths(*known);
        const detail::late_memory<std::vector<detail::value_of<All>>> own((*known)[rank()]);
        detail::block_call call = detail::moving(collective_kind::scatter, at(root, std::data(all)),
                                                 own->data(), own->size(), root);
        call.source_starts = lengths.starts.data();
        call.most = lengths.most;
        if (lengths.most != 0) run(call, site);
        return std::move(*own);
    }

    /// `exchange` of blocks that differ in length.
    /// @param to_each a block for each member, one behind the other. @param counts their lengths;
    /// the sum is the length of `to_each`.
    /// @return what each member has sent to this one.
    /// @cost an exchange of lengths more; none where all blocks are so short that they travel with
    /// them: up to 48 bytes each, in teams of up to 64.
    template <detail::shown_memory To>
    [[nodiscard]] varying_blocks<detail::value_of<To>> exchangev(
        const To& to_each, std::span<const std::size_t> counts,
        std::source_location site = std::source_location::current()) const {
        using element = detail::value_of<To>;
        const detail::composed_call whole(view(), detail::composed_call::name::exchangev, site);
        expect_counts("exchangev", std::size(to_each), counts, std::nullopt, site);
        const auto sent = detail::lengths(counts);
        const detail::late_memory<detail::block_notices> told(size(), size(), sizeof(element));
        for (std::uint32_t to = 0; to < size(); ++to) {
            told->give(to, std::data(to_each) + sent.starts[to], counts[to], sent.most);
        }
        run(told->moving(collective_kind::exchange, detail::moved_type<element>()), site);
        detail::block_call call =
            detail::moving<element>(collective_kind::exchange, std::data(to_each), nullptr, 0, 0);
        call.source_starts = sent.starts.data();
        return received<element>(*told, call, site);
    }

protected:
    explicit varying_collectives(const detail::team_view& view) noexcept
        : block_collectives(view) {}

private:
    /// The blocks that have been told of. @param call brings those that have not come with that.
    template <class T>
    varying_blocks<T> received(const detail::block_notices& told, detail::block_call call,
                               std::source_location site) const {
        const detail::late_memory<varying_blocks<T>> all(told.starts());
        if (told.have_blocks()) {
            told.copy_blocks(all->values.data());
            return std::move(*all);
        }
        call.target = reinterpret_cast<std::byte*>(all->values.data());
        call.target_starts = all->starts.data();
        call.most = told.most();
        run(call, site);
        return std::move(*all);
    }
};

}  // namespace selion
