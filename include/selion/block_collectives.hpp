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
#include <selion/detail/element_memory.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/late_memory.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/global_ptr.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>
#include <selion/varying_blocks.hpp>

namespace selion {

/// Collectives of a team that move or combine blocks of elements, one for each member. Memory is
/// given as anything that a std::span can show: spans, vectors, arrays. What a collective writes to
/// has a name, or is a span. A std::array that would be combined or moved alone is one value.
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
    template <detail::single_value T, class Operation>
    [[nodiscard]] std::optional<T> reduce(
        T value, const Operation& operation, team_rank root,
        std::source_location site = std::source_location::current()) const {
        const detail::reduction how = detail::erase_reduction<T>(operation);
        const detail::moved_value<T> own(value);
        run(detail::reducing(collective_kind::reduce, {&*own, 1}, at(root, &*own), how, root),
            site);
        return rank() == root ? std::optional<T>(*own) : std::nullopt;
    }
    /// Combines element by element, in place at the root; the others' data stay as they are.
    template <detail::changed_memory Data, class Operation>
    void reduce(Data&& data, const Operation& operation, team_rank root,
                std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        const auto how = detail::erase_reduction<detail::element_in<Data>>(operation);
        run(detail::reducing(collective_kind::reduce, own, at(root, own.data()), how, root), site);
    }

    /// Combines element by element, and gives each member its block of the result.
    /// @param all a block for each member, in their order; all members pass equally many elements.
    /// @param own receives block `rank()`; may be that block of `all`.
    template <detail::filled_memory Own, class Operation>
    void reduce_scatter(std::span<const detail::element_in<Own>> all, Own&& own,
                        const Operation& operation,
                        std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(own);
        expect_blocks("reduce_scatter", all.size(), to.size(), site);
        expect_apart("reduce_scatter", to.data(), all.data(), to.size_bytes(), site);
        const auto how = detail::erase_reduction<detail::element_in<Own>>(operation);
        detail::block_call call =
            detail::reducing(collective_kind::reduce_scatter, all, to.data(), how, 0);
        call.count = to.size();
        run(call, site);
    }

    /// @return the values of members 0 to `rank()`, combined in that order: those of the largest
    /// power of two of members first, then of the largest of the rest, and so on; seven values give
    /// (((0 1)(2 3)) (4 5)) 6, on every machine.
    template <detail::single_value T, class Operation>
    [[nodiscard]] T scan(T value, const Operation& operation,
                         std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        scan(std::span<T>(&*own, 1), operation, site);
        return *own;
    }
    /// Element by element, in place.
    template <detail::changed_memory Data, class Operation>
    void scan(Data&& data, const Operation& operation,
              std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        const auto how = detail::erase_reduction<detail::element_in<Data>>(operation);
        run(detail::reducing(collective_kind::scan, own, own.data(), how, 0), site);
    }

    /// The same without the own value. @param first what member 0 gets.
    template <detail::single_value T, class Operation>
    [[nodiscard]] T exscan(T value, const Operation& operation,
                           const std::type_identity_t<T>& first,
                           std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        exscan(std::span<T>(&*own, 1), operation, first, site);
        return *own;
    }
    /// Element by element, in place.
    template <detail::changed_memory Data, class Operation>
    void exscan(Data&& data, const Operation& operation, const detail::element_in<Data>& first,
                std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        const auto how = detail::erase_reduction<detail::element_in<Data>>(operation);
        const auto start = first;  // which may be one of the elements
        run(detail::exscanning(own, how, start), site);
    }

    /// @return at the root everybody's value, in the order of the members; elsewhere nothing.
    template <detail::single_value T>
    [[nodiscard]] std::vector<T> gather(
        const T& value, team_rank root,
        std::source_location site = std::source_location::current()) const {
        detail::stored<T> given = value;
        const detail::moved_value<detail::stored<T>> own(given);
        const detail::late_memory<std::vector<detail::stored<T>>> all(rank() == root ? size() : 0);
        gather({&*own, 1}, *all, root, site);
        return detail::values_of<T>(std::move(*all));
    }
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    /// @param all at the root: as many for each member. Elsewhere it is not looked at.
    template <detail::filled_memory All>
    void gather(std::span<const detail::element_in<All>> own, All&& all, team_rank root,
                std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        if (rank() == root) {
            expect_blocks("gather", to.size(), own.size(), site);
            expect_apart("gather", own.data(), to.data(), own.size_bytes(), site);
        }
        run(detail::moving(collective_kind::gather, own.data(), at(root, to.data()), own.size(),
                           root),
            site);
    }

    /// @return everybody's value, in the order of the members.
    template <detail::single_value T>
    [[nodiscard]] std::vector<T> all_gather(
        const T& value, std::source_location site = std::source_location::current()) const {
        detail::stored<T> given = value;
        const detail::moved_value<detail::stored<T>> own(given);
        const detail::late_memory<std::vector<detail::stored<T>>> all(size());
        all_gather({&*own, 1}, *all, site);
        return detail::values_of<T>(std::move(*all));
    }
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    /// @param all as many for each member.
    template <detail::filled_memory All>
    void all_gather(std::span<const detail::element_in<All>> own, All&& all,
                    std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        expect_blocks("all_gather", to.size(), own.size(), site);
        expect_apart("all_gather", own.data(), to.data(), own.size_bytes(), site);
        run(detail::moving(collective_kind::all_gather, own.data(), to.data(), own.size(), 0),
            site);
    }

    /// Each member gets its block of the root's data.
    /// @param all at the root: a block for each member. Elsewhere it is not looked at.
    /// @param own equally many elements at all members; may be block `rank()` of `all`.
    template <detail::filled_memory Own>
    void scatter(std::span<const detail::element_in<Own>> all, Own&& own, team_rank root,
                 std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(own);
        if (rank() == root) {
            expect_blocks("scatter", all.size(), to.size(), site);
            expect_apart("scatter", to.data(), all.data(), to.size_bytes(), site);
        }
        run(detail::moving(collective_kind::scatter, at(root, all.data()), to.data(), to.size(),
                           root),
            site);
    }

    /// Everybody sends everybody a block of its own (all-to-all).
    /// @param to_each a block for each member, in their order. @param from_each as many elements:
    /// what each member has sent to this one; may be the same memory, but not overlap otherwise.
    template <detail::filled_memory From>
    void exchange(std::span<const detail::element_in<From>> to_each, From&& from_each,
                  std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(from_each);
        expect_exchange(to_each.size_bytes(), to_each.data(), to.size_bytes(), to.data(),
                        sizeof(to[0]), site);
        run(detail::moving(collective_kind::exchange, to_each.data(), to.data(), to.size() / size(),
                           0),
            site);
    }

protected:
    explicit block_collectives(const detail::team_view& view) noexcept : block_checks(view) {}
    const detail::team_view& view() const noexcept { return view_; }
    void end_after(std::int64_t timeout_ns) noexcept {
        view_.timeout_ns = timeout_ns;
        view_.centre = &detail::no_centre;  // a plain barrier looks at no clock
    }
    void synchronise_as(const collective_sync& sync) noexcept { view_.sync = sync; }
    /// What moves as bytes is of this type: a number other than 0, the same on all ranks.
    void move_elements_of(std::uint32_t type) noexcept { view_.type = type; }
    detail::rank_context& context() const noexcept { return *view_.context; }
    template <class T>
    T* at(team_rank root, T* data) const {
        return rank() == root ? data : nullptr;
    }

    void run(const detail::block_call& call, std::source_location site) const {
        detail::run_block_call(view_, call, site);
    }
};

}  // namespace selion
