// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/detail/call_arguments.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/pool_access.hpp>
#include <selion/error.hpp>
#include <selion/offload_model.hpp>
#include <selion/routine.hpp>
#include <selion/routine_call.hpp>
#include <selion/worker_array.hpp>
#include <selion/worker_pool_options.hpp>
#include <selion/world.hpp>

/// Procedure calls to workers: threads, processes, or other ranks.
namespace selion {

/// Workers that run routines for one rank, the host. Belongs to the thread that makes it; makes
/// progress in its own calls and in those of its `routine_call`s.
class worker_pool {
public:
    /// Starts the workers. With `worker_kind::rank` collective: rank 0 is the host, and the ranks
    /// after it serve, in `serve` or when their pool ends.
    /// @error bad_argument, not_available, system_failure, out_of_memory.
    SELION_API explicit worker_pool(selion::world& world, const worker_pool_options& options = {},
                                    std::source_location site = std::source_location::current());
    /// For a program, or a thread, that is no rank: `thread` or `process`.
    SELION_API explicit worker_pool(const worker_pool_options& options);
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;
    /// Waits for the calls that are under way, and says which have failed without anybody asking.
    /// Worker processes then have 10 s to end by themselves before they are killed.
    SELION_API ~worker_pool();

    /// Number of workers; 0 on ranks that serve.
    SELION_API std::uint32_t size() const noexcept;
    /// Whether calls are made from here; not on ranks that serve.
    SELION_API bool is_host() const noexcept;
    /// On a rank that is a worker: runs calls until the host's pool ends. Else nothing.
    SELION_API void serve(std::source_location site = std::source_location::current());
    SELION_API pool_counts counts() const noexcept;
    /// What the calls so far have taken. All zero unless the pool measures.
    SELION_API pool_profile profile() const noexcept;
    /// What to expect of this pool for a round of work; its workers and its depth decide how calls
    /// follow each other. The curve goes up to 16 workers, or as many as there are.
    SELION_API offload_prediction predict(model_time in, model_time out, model_time compute) const;
    /// The same of the calls that it has measured. @error bad_argument: it measures nothing.
    SELION_API offload_prediction predict() const;
    /// What its calls suffer from, in a sentence. @param block see `offload_verdict`.
    SELION_API std::string verdict(std::uint32_t block = 0) const;
    /// Calls under way on one worker, at most.
    SELION_API std::uint32_t depth() const noexcept;

    /// Has a worker run a routine; returns when the call is on its way or waits for a worker.
    /// Arguments are given as its parameters say: values and spans as they are, what it writes as
    /// `out(…)` or `in_out(…)`, or a `worker_array`.
    /// @error bad_argument: the worker has no such routine, or an argument does not fit.
    template <class R, class... Ps, class... Arguments>
    auto call(const routine<R(Ps...)>& which, Arguments&&... arguments) {
        return call(call_options{}, which, std::forward<Arguments>(arguments)...);
    }
    template <class R, class... Ps, class... Arguments>
    auto call(const call_options& options, const routine<R(Ps...)>& which,
              Arguments&&... arguments) {
        static_assert((detail::outlives_call<Arguments&&> && ...),
                      "the elements of a temporary are gone before a worker reads them: give them "
                      "a name");
        using traits = detail::routine_traits<R(Ps...)>;
        return call_typed<R>(options, which.entry(), static_cast<typename traits::parameters*>(0),
                             arguments...);
    }
    /// The same by name, for routines of another program. Types must be the routine's own.
    template <class R = void, class... Arguments>
    routine_call<R> call(const call_options& options, std::string_view name,
                         Arguments&&... arguments) {
        static_assert((detail::outlives_call<Arguments&&> && ...),
                      "the elements of a temporary are gone before a worker reads them: give them "
                      "a name");
        detail::call_hold made(*state_, detail::begin_call(*state_, options));
        const std::array<detail::routine_parameter, sizeof...(Arguments)> given{
            detail::describe(detail::marked(arguments))...};
        detail::name_routine(*state_, made.call(), name, given, detail::result_parameter<R>());
        return finish<R>(std::move(made), detail::marked(arguments)...);
    }
    template <class R = void, class... Arguments>
    routine_call<R> call(std::string_view name, Arguments&&... arguments) {
        return call<R>(call_options{}, name, std::forward<Arguments>(arguments)...);
    }

    /// Waits until every call is done. Throws nothing: failures stay with their calls.
    SELION_API void wait_all(std::source_location site = std::source_location::current());
    /// Takes results and sends waiting calls. Waits for no call, and for no worker that starts in
    /// the place of another one.
    SELION_API void progress();
    /// Ends worker processes at once. Calls that are done keep their results; the others fail, and
    /// so do all that are made later. @error not_available: workers that are threads or ranks.
    SELION_API void kill_workers();
    /// From any thread of those that take turns at a pool of threads or processes: who waits for a
    /// call there, by `detail::wait_call_shared`, lets others have their turn.
    SELION_API void want_turn();
    /// Waits until one of several calls is done. @return its index, the lowest if there are
    /// several. @error bad_argument: there are no calls.
    template <class R>
    std::size_t wait_any(std::span<routine_call<R>> calls,
                         std::source_location site = std::source_location::current()) {
        if (calls.empty()) throw error(status::bad_argument, "wait_any has no call to wait for");
        while (true) {
            for (std::size_t i = 0; i < calls.size(); ++i) {
                if (calls[i].is_done()) return i;
            }
            rest(site);
        }
    }
    /// The same of calls in a vector or an array.
    template <class Calls>
        requires(std::ranges::contiguous_range<Calls> && !std::ranges::view<Calls>)
    std::size_t wait_any(Calls& calls,
                         std::source_location site = std::source_location::current()) {
        return wait_any(std::span<std::ranges::range_value_t<Calls>>(calls), site);
    }

    /// Shares `total` items out in chunks that shrink as the work does: each is a part of what is
    /// left, so that workers which are quicker get more, and all end at about the same time.
    /// @param least items of the smallest chunk but the last.
    /// @param start `start(first, count)` calls a routine for these items, and returns the call.
    /// Waits for all; throws what the first failed call has thrown, when all have ended.
    template <class Start>
    void share_out(std::size_t total, std::size_t least, Start start,
                   std::source_location site = std::source_location::current()) {
        expect_open();
        std::vector<decltype(start(total, total))> calls;
        std::exception_ptr trouble;
        const std::size_t most_calls = std::size_t{size()} * depth();
        for (std::size_t first = 0; first < total;) {
            if (calls.size() == most_calls) {
                const std::size_t done = wait_any(std::span(calls), site);
                std::swap(calls[done], calls.back());
                finish_chunk(calls.back(), trouble, site);
                calls.pop_back();
            }
            const std::size_t part = (total - first) / (2 * most_calls);
            const std::size_t count =
                std::min(std::max({part, least, std::size_t{1}}), total - first);
            calls.push_back(start(first, count));
            first += count;
        }
        for (auto& each : calls) finish_chunk(each, trouble, site);
        if (trouble) std::rethrow_exception(trouble);
    }

    /// The same with the smallest chunk and the depth that the model proposes, which it learns from
    /// some first calls, one after another: of 1 item, 2, 4, … until these
    /// cost more than the call, or an eighth is done.
    /// @return the plan. @error bad_argument: the pool does not measure.
    template <class Start>
    chunk_plan share_out(std::size_t total, Start start,
                         std::source_location site = std::source_location::current()) {
        std::vector<chunk_trial> trials;
        std::size_t first = 0;
        for (std::size_t count = 1; wants_trial(trials, first + count, total); count *= 2) {
            const pool_profile before = profile();
            start(first, count).wait(site);
            trials.push_back(trial_since(before, count));
            first += count;
        }
        if (trials.empty()) return {};
        const chunk_plan plan = plan_chunks(fit_chunk_cost(trials), total - first, size(), depth());
        const depth_limit limit(*this, plan.depth);
        const auto start_rest = [&](std::size_t from, std::size_t count) {
            return start(first + from, count);
        };
        share_out(total - first, plan.items, start_rest, site);
        return plan;
    }

    /// Elements in a worker's own memory; not set to any value.
    /// @error out_of_memory: it has not so much left.
    template <transferable T>
    worker_array<T> allocate(std::uint32_t worker, std::size_t count,
                             std::source_location site = std::source_location::current()) {
        return {*state_,
                detail::allocate_on(*state_, worker, detail::array_bytes(count, sizeof(T)), site)};
    }
    /// The same elements in each worker's memory: sent once where the machine can. Workers that
    /// have died without a successor go without. @error out_of_memory
    template <class Range>
    auto replicate(const Range& elements,
                   std::source_location site = std::source_location::current()) {
        const std::span shown(elements);
        using element = typename decltype(shown)::value_type;
        return worker_replica<element>(
            *state_, detail::replicate_on_all(*state_, shown.data(), shown.size_bytes(), site));
    }
    /// Elements in memory of the host that the workers see too: as arguments they do not travel.
    /// Give them back with `free_shared`. @error out_of_memory: see `shared_bytes`.
    template <transferable T>
    std::span<T> shared_array(std::size_t count) {
        return {reinterpret_cast<T*>(
                    detail::allocate_shared(*state_, detail::array_bytes(count, sizeof(T)))),
                count};
    }
    /// All of that memory.
    SELION_API std::span<std::byte> shared_memory() const;
    /// Keeps it mapped as long as somebody has this, also when the pool has ended.
    SELION_API std::shared_ptr<void> shared_life() const;
    /// @error bad_argument: it is none of these, or only a part of one.
    template <class T>
    void free_shared(std::span<T> array) {
        detail::free_shared(*state_, array.data());
    }

private:
    friend void detail::limit_calls(worker_pool& pool, std::uint64_t most);

    template <class R, class... Ps, class... Arguments>
    routine_call<R> call_typed(const call_options& options, const detail::routine_entry& which,
                               detail::parameter_list<Ps...>*, const Arguments&... arguments) {
        static_assert(sizeof...(Arguments) == sizeof...(Ps),
                      "the routine has another number of parameters");
        detail::call_hold made(*state_, detail::begin_call(*state_, options));
        detail::name_routine(*state_, made.call(), which);
        return finish<R>(std::move(made), detail::argument_for<Ps>(arguments)...);
    }
    template <class R, class... Given>
    routine_call<R> finish(detail::call_hold made, const Given&... given) {
        [[maybe_unused]] detail::call_writer& writer = detail::writer_of(made.call());
        (detail::write(writer, given), ...);
        detail::start_call(*state_, made.call());
        return routine_call<R>(std::move(made));
    }
    template <class R>
    static void finish_chunk(routine_call<R>& call, std::exception_ptr& trouble,
                             std::source_location site) {
        try {
            call.wait(site);
        } catch (...) {
            if (!trouble) trouble = std::current_exception();
        }
    }
    /// @error bad_argument: calls are not made from here.
    SELION_API void expect_open() const;
    SELION_API void rest(std::source_location site);
    SELION_API bool wants_trial(std::span<const chunk_trial> trials, std::size_t end,
                                std::size_t total) const;
    SELION_API chunk_trial trial_since(const pool_profile& before, std::size_t items) const;
    SELION_API std::uint32_t exchange_depth(std::uint32_t depth) noexcept;

    /// Fewer calls under way on a worker for a while.
    class depth_limit {
    public:
        depth_limit(worker_pool& pool, std::uint32_t depth)
            : pool_(pool), before_(pool.exchange_depth(depth)) {}
        ~depth_limit() { pool_.exchange_depth(before_); }
        depth_limit(const depth_limit&) = delete;
        depth_limit& operator=(const depth_limit&) = delete;

    private:
        worker_pool& pool_;
        std::uint32_t before_;
    };

    detail::pool_hold state_;
};

/// For a program that is started as a worker and does not call `selion::run`: serves until its pool
/// ends. @return false, at once, if it was not started as a worker.
SELION_API bool serve_as_worker();

}  // namespace selion
