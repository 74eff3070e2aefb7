// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <selion/block_collectives.hpp>
#include <selion/detail/block_call.hpp>
#include <selion/detail/started_call.hpp>
#include <selion/future.hpp>
#include <selion/global_ptr.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>

namespace selion {

/// A team's collectives in two phases: each call starts one and returns a future, which is
/// fulfilled when this member's part is done and its data may be used. Arguments are those of the
/// call of `team` with the same name; spans stay as they are until then, operations are copied.
///
/// All members start those of a team in the same order, and at the same places between its
/// blocking collectives. Many may be under way; they go on in all
/// calls of their ranks that wait or make progress, and what they combine is combined there. A job
/// waits for what its ranks have started. Members that start different ones
/// end the job with both call sites, in every build.
///
/// A future's `wait` takes a time-out; one of the team does not count here. A continuation must not
/// wait, nor call or start a collective.
///
/// Meters and traces have the call that starts, and the waits for the future.
///
/// @cost messages along a schedule, on every machine: where ranks map each other a blocking
/// collective is quicker than one that is started and waited for at once. Every eighth of a team,
/// and one after 16 MiB, is over when all members have come to it.
class split_phase_collectives : private block_collectives {
public:
    using block_collectives::rank;
    using block_collectives::size;

    /// Includes `quiet()` before it starts.
    future<> barrier(std::source_location site = std::source_location::current()) const {
        return start({.call = {.what = collective_kind::barrier}}, site);
    }

    /// The value that `root` has passed.
    template <transferable T>
    future<T> broadcast(T value, team_rank root,
                        std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, broadcast(std::span(own.get(), 1), root, site));
    }
    template <transferable T, std::size_t Extent>
    future<> broadcast(std::span<T, Extent> data, team_rank root,
                       std::source_location site = std::source_location::current()) const {
        return start({.call = detail::moving(collective_kind::broadcast, data.data(), data.data(),
                                             data.size(), root)},
                     site);
    }

    template <transferable T, class Operation>
    future<T> all_reduce(T value, const Operation& operation,
                         std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, all_reduce(std::span(own.get(), 1), operation, site));
    }
    template <transferable T, std::size_t Extent, class Operation>
    future<> all_reduce(std::span<T, Extent> data, const Operation& operation,
                        std::source_location site = std::source_location::current()) const {
        return combine<T>(collective_kind::all_reduce, data, data.data(), operation, 0, site);
    }

    /// At the root the result, elsewhere nothing.
    template <transferable T, class Operation>
    future<std::optional<T>> reduce(
        T value, const Operation& operation, team_rank root,
        std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        const bool is_root = rank() == root;
        return reduce(std::span(own.get(), 1), operation, root, site).then([own, is_root] {
            return is_root ? std::optional<T>(*own) : std::nullopt;
        });
    }
    template <transferable T, std::size_t Extent, class Operation>
    future<> reduce(std::span<T, Extent> data, const Operation& operation, team_rank root,
                    std::source_location site = std::source_location::current()) const {
        return combine<T>(collective_kind::reduce, data, at(root, data.data()), operation, root,
                          site);
    }

    template <transferable T, std::size_t Extent, class Operation>
    future<> reduce_scatter(std::span<const std::type_identity_t<T>> all, std::span<T, Extent> own,
                            const Operation& operation,
                            std::source_location site = std::source_location::current()) const {
        expect_blocks("reduce_scatter", all.size(), own.size(), site);
        expect_apart("reduce_scatter", own.data(), all.data(), own.size_bytes(), site);
        return combine<T>(collective_kind::reduce_scatter, all, own.data(), operation, 0, site,
                          own.size());
    }

    template <transferable T, class Operation>
    future<T> scan(T value, const Operation& operation,
                   std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, scan(std::span(own.get(), 1), operation, site));
    }
    template <transferable T, std::size_t Extent, class Operation>
    future<> scan(std::span<T, Extent> data, const Operation& operation,
                  std::source_location site = std::source_location::current()) const {
        return combine<T>(collective_kind::scan, data, data.data(), operation, 0, site);
    }

    template <transferable T, class Operation>
    future<T> exscan(T value, const Operation& operation, const std::type_identity_t<T>& first,
                     std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, exscan(std::span(own.get(), 1), operation, first, site));
    }
    template <transferable T, std::size_t Extent, class Operation>
    future<> exscan(std::span<T, Extent> data, const Operation& operation,
                    const std::type_identity_t<T>& first,
                    std::source_location site = std::source_location::current()) const {
        future<> started =
            combine<T>(collective_kind::exscan, data, data.data(), operation, 0, site);
        if (rank() != 0) return started;
        return started.then([data, first] { std::ranges::fill(data, first); });
    }

    /// At the root everybody's value, in the order of the members; elsewhere nothing.
    template <transferable T>
    future<std::vector<T>> gather(
        const T& value, team_rank root,
        std::source_location site = std::source_location::current()) const {
        auto blocks = std::make_shared<values<T>>(value, rank() == root ? size() : 0);
        return values_of(blocks, gather(std::span<const detail::stored<T>>(&blocks->own, 1),
                                        std::span(blocks->all), root, site));
    }
    template <transferable T>
    future<> gather(std::span<const std::type_identity_t<T>> own, std::span<T> all, team_rank root,
                    std::source_location site = std::source_location::current()) const {
        if (rank() == root) {
            expect_blocks("gather", all.size(), own.size(), site);
            expect_apart("gather", own.data(), all.data(), own.size_bytes(), site);
        }
        return start({.call = detail::moving(collective_kind::gather, own.data(),
                                             at(root, all.data()), own.size(), root)},
                     site);
    }

    /// Everybody's value, in the order of the members.
    template <transferable T>
    future<std::vector<T>> all_gather(
        const T& value, std::source_location site = std::source_location::current()) const {
        auto blocks = std::make_shared<values<T>>(value, size());
        return values_of(blocks, all_gather(std::span<const detail::stored<T>>(&blocks->own, 1),
                                            std::span(blocks->all), site));
    }
    template <transferable T>
    future<> all_gather(std::span<const std::type_identity_t<T>> own, std::span<T> all,
                        std::source_location site = std::source_location::current()) const {
        expect_blocks("all_gather", all.size(), own.size(), site);
        expect_apart("all_gather", own.data(), all.data(), own.size_bytes(), site);
        return start({.call = detail::moving(collective_kind::all_gather, own.data(), all.data(),
                                             own.size(), 0)},
                     site);
    }

    template <transferable T>
    future<> scatter(std::span<const std::type_identity_t<T>> all, std::span<T> own, team_rank root,
                     std::source_location site = std::source_location::current()) const {
        if (rank() == root) {
            expect_blocks("scatter", all.size(), own.size(), site);
            expect_apart("scatter", own.data(), all.data(), own.size_bytes(), site);
        }
        return start({.call = detail::moving(collective_kind::scatter, at(root, all.data()),
                                             own.data(), own.size(), root)},
                     site);
    }

    template <transferable T>
    future<> exchange(std::span<const std::type_identity_t<T>> to_each, std::span<T> from_each,
                      std::source_location site = std::source_location::current()) const {
        expect_exchange(to_each.size_bytes(), to_each.data(), from_each.size_bytes(),
                        from_each.data(), sizeof(T), site);
        return start({.call = detail::moving(collective_kind::exchange, to_each.data(),
                                             from_each.data(), from_each.size() / size(), 0)},
                     site);
    }

    // Blocks that differ in length. Every member is told the lengths of the blocks that it sends
    // and gets; sender and receiver give the same ones, else the job ends with a sentence. Each of
    // these is over when all members have come to it.

    /// @param counts of `all`, one for each member; looked at by the root alone.
    template <transferable T>
    future<> gatherv(std::span<const std::type_identity_t<T>> own, std::span<T> all,
                     std::span<const std::size_t> counts, team_rank root,
                     std::source_location site = std::source_location::current()) const {
        const bool is_root = rank() == root;
        if (is_root) expect_varying("gatherv", own, all, counts, site);
        return start(detail::varying(detail::moving(collective_kind::gather, own.data(),
                                                    at(root, all.data()), own.size(), root),
                                     {}, is_root ? counts : std::span<const std::size_t>()),
                     site);
    }

    /// @param counts the same at all members.
    template <transferable T>
    future<> all_gatherv(std::span<const std::type_identity_t<T>> own, std::span<T> all,
                         std::span<const std::size_t> counts,
                         std::source_location site = std::source_location::current()) const {
        expect_varying("all_gatherv", own, all, counts, site);
        return start(detail::varying(detail::moving(collective_kind::all_gather, own.data(),
                                                    all.data(), own.size(), 0),
                                     {}, counts),
                     site);
    }

    /// @param counts of `all`; looked at by the root alone.
    template <transferable T>
    future<> scatterv(std::span<const std::type_identity_t<T>> all,
                      std::span<const std::size_t> counts, std::span<T> own, team_rank root,
                      std::source_location site = std::source_location::current()) const {
        const bool is_root = rank() == root;
        if (is_root) expect_varying("scatterv", own, all, counts, site);
        return start(detail::varying(detail::moving(collective_kind::scatter, at(root, all.data()),
                                                    own.data(), own.size(), root),
                                     is_root ? counts : std::span<const std::size_t>(), {}),
                     site);
    }

    /// @param to_counts of the blocks of `to_each`. @param from_counts of those of `from_each`.
    /// The spans do not overlap.
    template <transferable T>
    future<> exchangev(std::span<const std::type_identity_t<T>> to_each,
                       std::span<const std::size_t> to_counts, std::span<T> from_each,
                       std::span<const std::size_t> from_counts,
                       std::source_location site = std::source_location::current()) const {
        expect_counts("exchangev", to_each.size(), to_counts, std::nullopt, site);
        expect_counts("exchangev", from_each.size(), from_counts, to_counts[rank()], site);
        return start(detail::varying(detail::moving(collective_kind::exchange, to_each.data(),
                                                    from_each.data(), 0, 0),
                                     to_counts, from_counts),
                     site);
    }

private:
    friend class team;
    split_phase_collectives(const detail::team_view& view, std::shared_ptr<void> life) noexcept
        : block_collectives(view), life_(std::move(life)) {}

    /// A block of every member, and where they come together.
    template <class T>
    struct values {
        values(const T& value, std::size_t count) : own(value), all(count) {}
        detail::stored<T> own;
        std::vector<detail::stored<T>> all;
    };
    template <class T>
    static future<std::vector<T>> values_of(const std::shared_ptr<values<T>>& blocks,
                                            future<> started) {
        return started.then([blocks] { return detail::values_of<T>(std::move(blocks->all)); });
    }
    template <class T>
    static future<T> value_of(const std::shared_ptr<T>& own, future<> started) {
        return started.then([own] { return *own; });
    }

    template <class T, class Operation>
    future<> combine(collective_kind what, std::span<const T> source, T* target,
                     const Operation& operation, team_rank root, std::source_location site,
                     std::optional<std::size_t> block = std::nullopt) const {
        detail::started_call call;
        if constexpr (std::is_function_v<Operation>) {
            call.how = detail::erase_reduction<T>(operation);
        } else {
            auto kept = std::make_shared<const Operation>(operation);
            call.how = detail::erase_reduction<T>(*kept);
            call.kept = std::move(kept);
        }
        call.call = detail::reducing(what, source, target, call.how, root);
        call.call.count = block.value_or(source.size());
        return start(std::move(call), site);
    }
    future<> start(detail::started_call call, std::source_location site) const {
        call.team_life = life_;
        return detail::start_block_call(view(), std::move(call), site);
    }

    std::shared_ptr<void> life_;
};

}  // namespace selion
