// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <selion/detail/block_call.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/future.hpp>
#include <selion/rank.hpp>
#include <selion/split_phase_varying.hpp>
#include <selion/varying_blocks.hpp>

namespace selion {

/// A team's collectives in two phases: each call starts one and returns a future, which is
/// fulfilled when this member's part is done and its data may be used. Arguments are those of the
/// call of `team` with the same name; memory stays where and as it is until then, operations are
/// copied.
///
/// All members start those of a team in the same order, and at the same places between its
/// blocking collectives. Many may be under way; they go on in all
/// calls of their ranks that wait or make progress, and what they combine is combined there. A job
/// waits for what its ranks have started. Members that start different ones end the job with both
/// call sites where calls are compared (SELION_CHECK_CALLS, the checking build, virtual time);
/// elsewhere when a message of one meets another, and members that all wait for messages hang.
///
/// A future's `wait` takes a time-out; one of the team does not count here. A continuation must not
/// wait, nor call or start a collective.
///
/// Meters and traces have the call that starts, and the waits for the future.
///
/// @cost messages along a schedule, on every machine: where ranks map each other a blocking
/// collective is quicker than one that is started and waited for at once. Every eighth of a team,
/// and one after 16 MiB, is over when all members have come to it.
class split_phase_collectives : public split_phase_varying {
public:
    /// Includes `quiet()` before it starts.
    future<> barrier(std::source_location site = std::source_location::current()) const {
        return start({.call = {.what = collective_kind::barrier}}, site);
    }

    /// The value that `root` has passed.
    template <detail::single_value T>
    future<T> broadcast(T value, team_rank root,
                        std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, broadcast(std::span(own.get(), 1), root, site));
    }
    template <detail::changed_memory Data>
    future<> broadcast(Data&& data, team_rank root,
                       std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        return start({.call = detail::moving(collective_kind::broadcast, own.data(), own.data(),
                                             own.size(), root)},
                     site);
    }

    template <detail::single_value T, class Operation>
    future<T> all_reduce(T value, const Operation& operation,
                         std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, all_reduce(std::span(own.get(), 1), operation, site));
    }
    template <detail::changed_memory Data, class Operation>
    future<> all_reduce(Data&& data, const Operation& operation,
                        std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        return combine(collective_kind::all_reduce, own, own.data(), operation, 0, site);
    }

    /// At the root the result, elsewhere nothing.
    template <detail::single_value T, class Operation>
    future<std::optional<T>> reduce(
        T value, const Operation& operation, team_rank root,
        std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        const bool is_root = rank() == root;
        return reduce(std::span(own.get(), 1), operation, root, site).then([own, is_root] {
            return is_root ? std::optional<T>(*own) : std::nullopt;
        });
    }
    template <detail::changed_memory Data, class Operation>
    future<> reduce(Data&& data, const Operation& operation, team_rank root,
                    std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        return combine(collective_kind::reduce, own, at(root, own.data()), operation, root, site);
    }

    template <detail::filled_memory Own, class Operation>
    future<> reduce_scatter(std::span<const detail::element_in<Own>> all, Own&& own,
                            const Operation& operation,
                            std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(own);
        expect_blocks("reduce_scatter", all.size(), to.size(), site);
        expect_apart("reduce_scatter", to.data(), all.data(), to.size_bytes(), site);
        return combine(collective_kind::reduce_scatter, all, to.data(), operation, 0, site,
                       to.size());
    }

    template <detail::single_value T, class Operation>
    future<T> scan(T value, const Operation& operation,
                   std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, scan(std::span(own.get(), 1), operation, site));
    }
    template <detail::changed_memory Data, class Operation>
    future<> scan(Data&& data, const Operation& operation,
                  std::source_location site = std::source_location::current()) const {
        const std::span own = detail::span_of(data);
        return combine(collective_kind::scan, own, own.data(), operation, 0, site);
    }

    template <detail::single_value T, class Operation>
    future<T> exscan(T value, const Operation& operation, const std::type_identity_t<T>& first,
                     std::source_location site = std::source_location::current()) const {
        auto own = std::make_shared<T>(value);
        return value_of(own, exscan(std::span(own.get(), 1), operation, first, site));
    }
    template <detail::changed_memory Data, class Operation>
    future<> exscan(Data&& data, const Operation& operation, const detail::element_in<Data>& first,
                    std::source_location site = std::source_location::current()) const {
        return start_exscan(detail::span_of(data), operation, first, site);
    }

    /// At the root everybody's value, in the order of the members; elsewhere nothing.
    template <detail::single_value T>
    future<std::vector<T>> gather(
        const T& value, team_rank root,
        std::source_location site = std::source_location::current()) const {
        auto blocks = std::make_shared<values<T>>(value, rank() == root ? size() : 0);
        return values_of(blocks, gather({&blocks->own, 1}, blocks->all, root, site));
    }
    template <detail::filled_memory All>
    future<> gather(std::span<const detail::element_in<All>> own, All&& all, team_rank root,
                    std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        if (rank() == root) {
            expect_blocks("gather", to.size(), own.size(), site);
            expect_apart("gather", own.data(), to.data(), own.size_bytes(), site);
        }
        return start({.call = detail::moving(collective_kind::gather, own.data(),
                                             at(root, to.data()), own.size(), root)},
                     site);
    }

    /// Everybody's value, in the order of the members.
    template <detail::single_value T>
    future<std::vector<T>> all_gather(
        const T& value, std::source_location site = std::source_location::current()) const {
        auto blocks = std::make_shared<values<T>>(value, size());
        return values_of(blocks, all_gather({&blocks->own, 1}, blocks->all, site));
    }
    template <detail::filled_memory All>
    future<> all_gather(std::span<const detail::element_in<All>> own, All&& all,
                        std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(all);
        expect_blocks("all_gather", to.size(), own.size(), site);
        expect_apart("all_gather", own.data(), to.data(), own.size_bytes(), site);
        return start({.call = detail::moving(collective_kind::all_gather, own.data(), to.data(),
                                             own.size(), 0)},
                     site);
    }

    template <detail::filled_memory Own>
    future<> scatter(std::span<const detail::element_in<Own>> all, Own&& own, team_rank root,
                     std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(own);
        if (rank() == root) {
            expect_blocks("scatter", all.size(), to.size(), site);
            expect_apart("scatter", to.data(), all.data(), to.size_bytes(), site);
        }
        return start({.call = detail::moving(collective_kind::scatter, at(root, all.data()),
                                             to.data(), to.size(), root)},
                     site);
    }

    template <detail::filled_memory From>
    future<> exchange(std::span<const detail::element_in<From>> to_each, From&& from_each,
                      std::source_location site = std::source_location::current()) const {
        const std::span to = detail::span_of(from_each);
        expect_exchange(to_each.size_bytes(), to_each.data(), to.size_bytes(), to.data(),
                        sizeof(to[0]), site);
        return start({.call = detail::moving(collective_kind::exchange, to_each.data(), to.data(),
                                             to.size() / size(), 0)},
                     site);
    }

private:
    friend class team;
    split_phase_collectives(const detail::team_view& view, std::shared_ptr<void> life) noexcept
        : split_phase_varying(view, std::move(life)) {}

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
        return std::move(started).then(
            [blocks] { return detail::values_of<T>(std::move(blocks->all)); });
    }
    template <class T>
    static future<T> value_of(const std::shared_ptr<T>& own, future<> started) {
        return std::move(started).then([own] { return *own; });
    }
};

}  // namespace selion
