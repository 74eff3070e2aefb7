// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "machine/host/host.hpp"
#include "machine/workers/local_group.hpp"
#include "offload/worker_group.hpp"
#include "onesided/waiting.hpp"

namespace selion::offload {
namespace {

using machine::workers::call_notice;
using machine::workers::call_reply;
using machine::workers::call_request;
using machine::workers::group_plan;
using machine::workers::local_group;
using machine::workers::read_turn;
using machine::workers::waiting_policy;
using machine::workers::worker_area;

constexpr std::uint64_t standard_memory = std::uint64_t{64} << 20;
/// How often a rank that waits for a worker looks for messages to itself.
constexpr std::int64_t rank_slice_ns = 1'000'000;
/// The same where other ranks have the same thread.
constexpr std::int64_t fiber_slice_ns = 20'000;

group_plan plan_for(const worker_pool_options& options) {
    group_plan plan;
    plan.workers = options.workers.value_or(std::max(usable_cores(), 2u) - 1);
    plan.are_processes = options.kind == worker_kind::process;
    plan.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : standard_memory;
    plan.shared_bytes = options.shared_bytes;
    plan.measures = options.measures;
    plan.command = options.program;
    constexpr std::int64_t for_ever_ns = std::int64_t{1} << 62;  // and a clock's time goes on top
    if (options.spin) {
        plan.waiting = waiting_policy{std::min(options.spin->nanoseconds(), for_ever_ns), 0};
    }
    return plan;
}

/// Threads and processes on the host's own computer.
class local_workers final : public worker_group {
public:
    local_workers(const worker_pool_options& options, detail::rank_context* context)
        : workers_(plan_for(options)), context_(context) {}

    std::uint32_t size() const override { return workers_.size(); }
    bool is_own() const override { return workers_.is_own(); }
    const std::vector<routine_shape>& routines() const override { return workers_.routines(); }
    std::uint64_t memory_bytes() const override { return workers_.memory(0).size(); }

    std::uint64_t place_of_own(std::uint32_t worker, std::uint64_t offset) const override {
        return workers_.place_of_own(worker, offset);
    }
    std::optional<std::uint64_t> place_of_host(const void* address,
                                               std::size_t bytes) const override {
        return workers_.place_of(address, bytes);
    }
    std::span<std::byte> shared() const override { return workers_.shared(); }
    std::shared_ptr<void> shared_life() const override { return workers_.memory_life(); }
    void write(std::uint32_t worker, std::uint64_t offset, const void* data,
               std::size_t bytes) override {
        if (bytes != 0) std::memcpy(workers_.memory(worker).data() + offset, data, bytes);
    }
    void read(std::uint32_t worker, std::uint64_t offset, void* data, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(data, workers_.memory(worker).data() + offset, bytes);
    }

    bool copy(const memory_place& from, const memory_place& to, std::size_t bytes,
              std::uint64_t) override {
        write(to.worker, to.offset, workers_.memory(from.worker).data() + from.offset, bytes);
        return false;
    }

    void send(std::uint32_t worker, const sent_call& call) override {
        call_request& request = workers_.area(worker).request(call.turn);
        request.routine = call.routine;
        std::atomic_ref(request.notice).store(call_notice::none, std::memory_order_relaxed);
        std::ranges::copy(call.words, request.words.begin());
        workers_.publish(worker, call.turn);
    }
    bool has_ended(std::uint32_t worker, std::uint64_t turn) override {
        return read_turn(workers_.area(worker).reply(turn).turn) == turn;
    }
    ended_call take(std::uint32_t worker, std::uint64_t turn, bool) override {
        const call_reply& reply = workers_.area(worker).reply(turn);
        return {reply.outcome, reply.results.data(),
                std::chrono::nanoseconds(workers_.measures() ? reply.busy_ns : 0)};
    }
    std::string text(std::uint32_t worker, std::uint64_t turn) override {
        worker_area& area = workers_.area(worker);
        return {area.text(turn).bytes.data(), area.reply(turn).text_bytes};
    }
    void cancel(std::uint32_t worker, std::uint64_t turn) override {
        tell(worker, turn, call_notice::given_up);
    }
    bool can_take_back() const override { return true; }
    bool take_back(std::uint32_t worker, std::uint64_t turn) override {
        if (has_ended(worker, turn - 1)) return false;
        tell(worker, turn, call_notice::taken_back);
        // seq_cst: the notice before the look at the reply of the call before; pairs with the
        // worker's reply before its look at the notice [call.back]
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return !has_ended(worker, turn - 1);
    }

    void rest(std::int64_t deadline_ns, bool looks, news& look) override {
        const auto has_news = [&] { return look.are_there(); };
        if (context_ == nullptr) return workers_.rest(deadline_ns, looks, has_news);
        detail::make_progress(*context_);
        const std::int64_t slice = context_->group_size > 1 ? fiber_slice_ns : rank_slice_ns;
        workers_.rest(std::min(deadline_ns, now_ns() + slice), looks, has_news);
    }
    void wake_host() override { workers_.wake_host(); }
    void let_others_run() override {
        if (context_ != nullptr) static_cast<void>(detail::make_progress(*context_));
    }
    std::int64_t now_ns() const override { return machine::host_time_ns(); }

    std::optional<std::string> ending(std::uint32_t worker) override {
        return workers_.ending(worker);
    }
    bool can_kill() const override { return workers_.are_processes(); }
    void kill_in(std::uint32_t worker, std::uint64_t turn) override {
        const auto runs = [&] { return begun(worker) == turn && !has_ended(worker, turn); };
        if (runs()) workers_.kill_if(worker, runs);
    }
    void kill_all() override { workers_.kill_all(); }
    std::uint64_t begun(std::uint32_t worker) const override {
        return std::atomic_ref(workers_.area(worker).begun).load(std::memory_order_relaxed);
    }
    void replace(std::uint32_t worker) override { workers_.replace(worker); }
    bool can_renew() const override { return workers_.are_processes(); }
    void renew(std::uint32_t worker) override { workers_.renew(worker); }
    bool is_there(std::uint32_t worker) override { return workers_.is_there(worker); }

private:
    void tell(std::uint32_t worker, std::uint64_t turn, call_notice what) {
        std::atomic_ref(workers_.area(worker).request(turn).notice)
            .store(what, std::memory_order_relaxed);
    }

    local_group workers_;
    detail::rank_context* context_;
};

}  // namespace

std::unique_ptr<worker_group> make_local_group(const worker_pool_options& options,
                                               detail::rank_context* context) {
    return std::make_unique<local_workers>(options, context);
}

}  // namespace selion::offload
