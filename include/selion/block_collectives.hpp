// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include <selion/detail/block_call.hpp>
#include <selion/detail/block_checks.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/late_memory.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/global_ptr.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>
#include <selion/varying_blocks.hpp>

namespace selion {

/// Collectives of a team that move or combine blocks of elements, one for each member.
class block_collectives : protected detail::block_checks {
public:
    team_rank rank() const noexcept { return view_.rank; }
    std::uint32_t size() const noexcept { return view_.size; }
    /// World rank of a member. @param member 0 .. size() - 1.
    rank_id world_rank(team_rank member,
                       std::source_location site = std::source_location::current()) const {
        if (std::uint32_t{member} >= size()) [[unlikely]]
            end_for_member(member, site);
        return view_.is_everybody() ? std::uint32_t{member} : detail::world_rank_of(view_, member);
    }

    /// Combines one value of every member as `all_reduce` does. @return at the root the result,
    /// elsewhere nothing.
    template <transferable T, class Operation>
    [[nodiscard]] std::optional<T> reduce(
        T value, const Operation& operation, team_rank root,
        std::source_location site = std::source_location::current()) const {
        const detail::reduction how = detail::erase_reduction<T>(operation);
        const detail::moved_value<T> own(value);
        run(detail::reducing(collective_kind::reduce, std::span<const T>(&*own, 1), at(root, &*own),
                             how, root),
            site);
        return rank() == root ? std::optional<T>(*own) : std::nullopt;
    }
    /// Combines element by element, in place at the root; the others' data stay as they are.
    template <transferable T, std::size_t Extent, class Operation>
    void reduce(std::span<T, Extent> data, const Operation& operation, team_rank root,
                std::source_location site = std::source_location::current()) const {
        const detail::reduction how = detail::erase_reduction<T>(operation);
        run(detail::reducing(collective_kind::reduce, std::span<const T>(data),
                             at(root, data.data()), how, root),
            site);
    }

    /// Combines element by element, and gives each member its block of the result.
    /// @param all a block for each member, in their order; all members pass equally many elements.
    /// @param own receives block `rank()`; may be that block of `all`.
    template <transferable T, std::size_t Extent, class Operation>
    void reduce_scatter(std::span<const std::type_identity_t<T>> all, std::span<T, Extent> own,
                        const Operation& operation,
                        std::source_location site = std::source_location::current()) const {
        expect_blocks("reduce_scatter", all.size(), own.size(), site);
        expect_apart("reduce_scatter", own.data(), all.data(), own.size_bytes(), site);
        const detail::reduction how = detail::erase_reduction<T>(operation);
        detail::block_call call =
            detail::reducing(collective_kind::reduce_scatter, all, own.data(), how, 0);
        call.count = own.size();
        run(call, site);
    }

    /// @return the values of members 0 to `rank()`, combined in that order: those of the largest
    /// power of two of members first, then of the largest of the rest, and so on; seven values give
    /// (((0 1)(2 3)) (4 5)) 6, on every machine.
    template <transferable T, class Operation>
    [[nodiscard]] T scan(T value, const Operation& operation,
                         std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        scan(std::span<T>(&*own, 1), operation, site);
        return *own;
    }
    /// Element by element, in place.
    template <transferable T, std::size_t Extent, class Operation>
    void scan(std::span<T, Extent> data, const Operation& operation,
              std::source_location site = std::source_location::current()) const {
        const detail::reduction how = detail::erase_reduction<T>(operation);
        run(detail::reducing(collective_kind::scan, std::span<const T>(data), data.data(), how, 0),
            site);
    }

    /// The same without the own value. @param first what member 0 gets.
    template <transferable T, class Operation>
    [[nodiscard]] T exscan(T value, const Operation& operation,
                           const std::type_identity_t<T>& first,
                           std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        exscan(std::span<T>(&*own, 1), operation, first, site);
        return *own;
    }
    /// Element by element, in place.
    template <transferable T, std::size_t Extent, class Operation>
    void exscan(std::span<T, Extent> data, const Operation& operation,
                const std::type_identity_t<T>& first,
                std::source_location site = std::source_location::current()) const {
        const detail::reduction how = detail::erase_reduction<T>(operation);
        run(detail::reducing(collective_kind::exscan, std::span<const T>(data), data.data(), how,
                             0),
            site);
        if (rank() == 0) std::ranges::fill(data, first);
    }

    /// @return at the root everybody's value, in the order of the members; elsewhere nothing.
    template <transferable T>
    [[nodiscard]] std::vector<T> gather(
        const T& value, team_rank root,
        std::source_location site = std::source_location::current()) const {
        detail::stored<T> given = value;
        const detail::moved_value<detail::stored<T>> own(given);
        const detail::late_memory<std::vector<detail::stored<T>>> all(rank() == root ? size() : 0);
        gather(std::span(&*own, 1), std::span(*all), root, site);
        return detail::values_of<T>(std::move(*all));
    }
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    /// @param all at the root: as many for each member. Elsewhere it is not looked at.
    template <transferable T>
    void gather(std::span<const std::type_identity_t<T>> own, std::span<T> all, team_rank root,
                std::source_location site = std::source_location::current()) const {
        if (rank() == root) {
            expect_blocks("gather", all.size(), own.size(), site);
            expect_apart("gather", own.data(), all.data(), own.size_bytes(), site);
        }
        run(detail::moving(collective_kind::gather, own.data(), at(root, all.data()), own.size(),
                           root),
            site);
    }

    /// @return everybody's value, in the order of the members.
    template <transferable T>
    [[nodiscard]] std::vector<T> all_gather(
        const T& value, std::source_location site = std::source_location::current()) const {
        detail::stored<T> given = value;
        const detail::moved_value<detail::stored<T>> own(given);
        const detail::late_memory<std::vector<detail::stored<T>>> all(size());
        all_gather(std::span(&*own, 1), std::span(*all), site);
        return detail::values_of<T>(std::move(*all));
    }
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    /// @param all as many for each member.
    template <transferable T>
    void all_gather(std::span<const std::type_identity_t<T>> own, std::span<T> all,
                    std::source_location site = std::source_location::current()) const {
        expect_blocks("all_gather", all.size(), own.size(), site);
        expect_apart("all_gather", own.data(), all.data(), own.size_bytes(), site);
        run(detail::moving(collective_kind::all_gather, own.data(), all.data(), own.size(), 0),
            site);
    }

    /// Each member gets its block of the root's data.
    /// @param all at the root: a block for each member. Elsewhere it is not looked at.
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    template <transferable T>
    void scatter(std::span<const std::type_identity_t<T>> all, std::span<T> own, team_rank root,
                 std::source_location site = std::source_location::current()) const {
        if (rank() == root) {
            expect_blocks("scatter", all.size(), own.size(), site);
            expect_apart("scatter", own.data(), all.data(), own.size_bytes(), site);
        }
        run(detail::moving(collective_kind::scatter, at(root, all.data()), own.data(), own.size(),
                           root),
            site);
    }

    /// Everybody sends everybody a block of its own (all-to-all).
    /// @param to_each a block for each member, in their order. @param from_each as many elements:
    /// what each member has sent to this one; may be the same memory, but not overlap otherwise.
    template <transferable T>
    void exchange(std::span<const std::type_identity_t<T>> to_each, std::span<T> from_each,
                  std::source_location site = std::source_location::current()) const {
        expect_exchange(to_each.size_bytes(), to_each.data(), from_each.size_bytes(),
                        from_each.data(), sizeof(T), site);
        run(detail::moving(collective_kind::exchange, to_each.data(), from_each.data(),
                           from_each.size() / size(), 0),
            site);
    }

    /// `gather` of blocks that differ in length. @return at the root everybody's; elsewhere
    /// nothing.
    /// @cost an all_gather of the lengths and a gather.
    template <transferable T>
    [[nodiscard]] varying_blocks<T> gatherv(
        std::span<const T> own, team_rank root,
        std::source_location site = std::source_location::current()) const {
        const auto lengths = detail::lengths(all_gather(own.size(), site));
        const detail::late_memory<varying_blocks<T>> all;
        if (rank() == root) *all = varying_blocks<T>(lengths.starts);
        detail::block_call call = detail::moving(collective_kind::gather, own.data(),
                                                 at(root, all->values.data()), own.size(), root);
        call.target_starts = lengths.starts.data();
        call.most = lengths.most;
        if (lengths.most != 0) run(call, site);
        return std::move(*all);
    }

    /// `all_gather` of blocks that differ in length. @cost an all_gather of the lengths more.
    template <transferable T>
    [[nodiscard]] varying_blocks<T> all_gatherv(
        std::span<const T> own, std::source_location site = std::source_location::current()) const {
        const auto lengths = detail::lengths(all_gather(own.size(), site));
        const detail::late_memory<varying_blocks<T>> all(lengths.starts);
        detail::block_call call = detail::moving(collective_kind::all_gather, own.data(),
                                                 all->values.data(), own.size(), 0);
        call.target_starts = lengths.starts.data();
        call.most = lengths.most;
        if (lengths.most != 0) run(call, site);
        return std::move(*all);
    }

    /// `scatter` of blocks that differ in length.
    /// @param all at the root: everybody's block, one behind the other. @param counts at the root:
    /// their lengths; the sum is the length of `all`. Elsewhere neither is looked at.
    /// @return the own block. @cost a broadcast of the lengths more.
    template <transferable T>
    [[nodiscard]] std::vector<T> scatterv(
        std::span<const T> all, std::span<const std::size_t> counts, team_rank root,
        std::source_location site = std::source_location::current()) const {
        std::vector<std::size_t> known(size());
        if (rank() == root) {
            expect_counts("scatterv", all.size(), counts, std::nullopt, site);
            std::ranges::copy(counts, known.begin());
        }
        share(std::as_writable_bytes(std::span(known)), root, site);
        const auto lengths = detail::lengths(known);
        const detail::late_memory<std::vector<T>> own(known[rank()]);
        detail::block_call call = detail::moving(collective_kind::scatter, at(root, all.data()),
                                                 own->data(), own->size(), root);
        call.source_starts = lengths.starts.data();
        call.most = lengths.most;
        if (lengths.most != 0) run(call, site);
        return std::move(*own);
    }

    /// `exchange` of blocks that differ in length.
    /// @param to_each a block for each member, one behind the other. @param counts their lengths;
    /// the sum is the length of `to_each`.
    /// @return what each member has sent to this one. @cost an exchange and an all_reduce of
    /// lengths more.
    template <transferable T>
    [[nodiscard]] varying_blocks<T> exchangev(
        std::span<const T> to_each, std::span<const std::size_t> counts,
        std::source_location site = std::source_location::current()) const {
        expect_counts("exchangev", to_each.size(), counts, std::nullopt, site);
        std::vector<std::size_t> come(size());
        exchange(counts, std::span(come), site);
        const auto sent = detail::lengths(counts);
        const auto received = detail::lengths(come);
        const detail::late_memory<varying_blocks<T>> all(received.starts);
        detail::block_call call =
            detail::moving(collective_kind::exchange, to_each.data(), all->values.data(), 0, 0);
        call.source_starts = sent.starts.data();
        call.target_starts = received.starts.data();
        call.most = longest(sent.most, site);
        if (call.most != 0) run(call, site);
        return std::move(*all);
    }

protected:
    explicit block_collectives(const detail::team_view& view) noexcept : block_checks(view) {}
    const detail::team_view& view() const noexcept { return view_; }
    void end_after(std::int64_t timeout_ns) noexcept {
        view_.timeout_ns = timeout_ns;
        view_.centre = &detail::no_centre;  // a plain barrier looks at no clock
    }
    void synchronise_as(const collective_sync& sync) noexcept { view_.sync = sync; }
    detail::rank_context& context() const noexcept { return *view_.context; }
    template <class T>
    T* at(team_rank root, T* data) const {
        return rank() == root ? data : nullptr;
    }

private:
    void run(const detail::block_call& call, std::source_location site) const {
        detail::run_block_call(view_, call, site);
    }
    SELION_API void share(std::span<std::byte> data, team_rank root,
                          std::source_location site) const;
    SELION_API std::size_t longest(std::size_t own, std::source_location site) const;
};

}  // namespace selion
