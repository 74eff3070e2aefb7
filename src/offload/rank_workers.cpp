// SPDX-License-Identifier: Apache-2.0
// The host's side of a pool whose workers are ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "offload/rank_layout.hpp"
#include "offload/rank_server.hpp"
#include "offload/worker_group.hpp"
#include "onesided/waiting.hpp"
#include "selion/charge.hpp"
#include "selion/memory.hpp"
#include "selion/put_get.hpp"

namespace selion::offload {
namespace {

constexpr std::uint64_t standard_rank_memory = std::uint64_t{4} << 20;
/// What a pool leaves of a heap that is smaller: an eighth, and no more than that.
constexpr std::uint64_t heap_margin = std::uint64_t{128} << 10;
constexpr std::uint64_t margin_part = 8;
constexpr std::uint32_t standard_depth = 2;

/// What a machine's description says that a host does for a call, beside the transfers.
struct call_costs {
    explicit call_costs(machine::machine& host)
        : call(host.cost("offload.call").picoseconds),
          call_with_arguments(host.cost("offload.call_with_arguments").picoseconds),
          synchronise(host.cost("offload.synchronise").picoseconds),
          read_result(host.cost("offload.read_result").picoseconds) {}
    std::int64_t call;
    std::int64_t call_with_arguments;
    std::int64_t synchronise;
    std::int64_t read_result;
};

void spend(std::int64_t picoseconds) {
    if (picoseconds != 0) charge({.picoseconds = picoseconds});
}

class rank_workers final : public worker_group {
public:
    /// @param made_at place of the pool, which reports of hangs name where a call goes on its way.
    rank_workers(detail::rank_context& context, const rank_memory& memory, std::uint32_t workers,
                 std::source_location made_at)
        : context_(context),
          memory_(memory),
          made_at_(made_at),
          routines_(machine::workers::shapes_of(machine::workers::own_routines())),
          costs_(*context.host),
          has_one_clock_(!context.host->description().capabilities.real_time),
          last_turns_(workers, 0) {}

    ~rank_workers() override {
        for (std::uint32_t worker = 0; worker < size(); ++worker) {
            post(worker, last_turns_[worker] + 1, machine::workers::stop_routine, {});
        }
        wait_for_workers();
    }

    std::uint32_t size() const override { return static_cast<std::uint32_t>(last_turns_.size()); }
    const std::vector<routine_shape>& routines() const override { return routines_; }
    std::uint64_t memory_bytes() const override { return memory_.layout.memory_bytes(); }
    bool wants_idle_workers() const override {
        return context_.host->description().capabilities.moves_idle_ranks_only;
    }

    std::uint64_t place_of_own(std::uint32_t, std::uint64_t offset) const override {
        return memory_.layout.memory() + offset;
    }
    std::optional<std::uint64_t> pack(std::uint64_t turn, std::uint32_t words, const void* data,
                                      std::size_t bytes) override {
        if (packed_turn_ != turn)
            packed_end_ = offsetof(rank_request, content) + words * word_bytes;
        packed_turn_ = turn;
        const std::size_t start =
            (packed_end_ + packed_alignment - 1) / packed_alignment * packed_alignment;
        if (bytes > sizeof(staged_) - start) return std::nullopt;
        if (bytes != 0) std::memcpy(reinterpret_cast<std::byte*>(&staged_) + start, data, bytes);
        packed_end_ = start + bytes;
        return memory_.layout.request(turn) + start;
    }
    void write(std::uint32_t worker, std::uint64_t offset, const void* data,
               std::size_t bytes) override {
        put(memory_at(worker, offset), std::span(static_cast<const std::byte*>(data), bytes),
            made_at_);
    }
    void write_all(std::span<const memory_place> places, const void* data,
                   std::size_t bytes) override {
        std::vector<std::uint64_t> far;
        for (const memory_place& each : places) {
            const std::uint64_t target = memory_at(each.worker, each.offset).bits();
            if (bytes == 0 || detail::mapped_address(context_, target) != nullptr) {
                write(each.worker, each.offset, data, bytes);
            } else {
                far.push_back(target);
            }
        }
        if (!far.empty()) context_.transport->put_to_all(context_, far, data, bytes);
    }
    bool copy(const memory_place& from, const memory_place& to, std::size_t bytes,
              std::uint64_t turn) override {
        const std::array<std::uint64_t, 3> words{from.offset,
                                                 memory_at(to.worker, to.offset).bits(), bytes};
        send(from.worker, {turn, copy_routine, words});
        return true;
    }
    void end_copy() override { spend(costs_.synchronise); }
    void read(std::uint32_t worker, std::uint64_t offset, void* data, std::size_t bytes) override {
        get(std::span(static_cast<std::byte*>(data), bytes), memory_at(worker, offset), made_at_);
    }

    void send(std::uint32_t worker, const sent_call& call) override {
        spend(call.words.empty() ? costs_.call : costs_.call_with_arguments);
        last_turns_[worker] = call.turn;
        post(worker, call.turn, call.routine, call.words);
    }
    bool has_ended(std::uint32_t worker, std::uint64_t turn) override {
        return detail::word_load(ended(worker).word()) >= turn;
    }
    ended_call take(std::uint32_t worker, std::uint64_t turn, bool has_results) override {
        const rank_reply& reply = reply_of(worker, turn);
        spend(costs_.synchronise);
        if (has_results) spend(costs_.read_result);
        if (!memory_.measures) return {reply.outcome(), reply.results.data()};
        constexpr double picoseconds = 1e-12;
        ended_call ended{reply.outcome(), reply.results.data() + 1,
                         model_time(static_cast<double>(reply.results.front()) * picoseconds)};
        if (ended.outcome == call_outcome::done && has_one_clock_) {
            ended.begun_ps = static_cast<std::int64_t>(reply.number());
        }
        return ended;
    }
    std::string text(std::uint32_t worker, std::uint64_t turn) override {
        std::string both(reply_of(worker, turn).number(), '\0');
        get(std::as_writable_bytes(std::span(both)),
            memory_.at(rank_of(worker), memory_.layout.text(turn)), made_at_);
        return both;
    }
    void cancel(std::uint32_t worker, std::uint64_t turn) override {
        if (!leaves_workers_alone(context_.host->description().capabilities)) {
            return notify(memory_.signal_at(rank_of(worker), memory_.layout.cancelled(turn)),
                          signal_set(turn), made_at_);
        }
        const std::uint64_t notice =
            memory_.signal_at(rank_of(worker), memory_.layout.cancelled(turn)).bits();
        // A worker that must not be disturbed hears of it when it looks. Nobody waits for that.
        detail::put_signal_slow({.target = notice,
                                 .source = nullptr,
                                 .bytes = 0,
                                 .signal = notice,
                                 .update = signal_set(turn),
                                 .is_fleeting = true,
                                 .waits_alone = true},
                                made_at_);
    }

    void rest(std::int64_t deadline_ns, bool, news& look) override {
        detail::run_completions(context_);
        if (look.are_there()) return;
        wait_for_any(deadline_ns);
    }
    void let_others_run() override { static_cast<void>(detail::make_progress(context_)); }
    std::int64_t now_ns() const override { return context_.clock->now_ns(); }
    std::int64_t stamp_ps() const override { return context_.clock->stamp_ps(); }

private:
    static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    static constexpr std::size_t packed_alignment = 16;

    static rank_id rank_of(std::uint32_t worker) { return worker + 1; }
    global_ptr<std::byte> memory_at(std::uint32_t worker, std::uint64_t offset) const {
        return memory_.at(rank_of(worker), memory_.layout.memory() + offset);
    }
    signal& ended(std::uint32_t worker) const {
        return memory_.own<signal>(context_.rank, rank_layout::ended(worker));
    }
    const rank_reply& reply_of(std::uint32_t worker, std::uint64_t turn) const {
        return memory_.own<rank_reply>(context_.rank, memory_.layout.reply(worker, turn));
    }

    void post(std::uint32_t worker, std::uint64_t turn, std::uint32_t routine,
              std::span<const std::uint64_t> words) {
        staged_.routine = routine;
        staged_.measures = memory_.measures ? 1 : 0;
        std::ranges::copy(words, staged_.content.begin());
        const std::size_t bytes = packed_turn_ == turn
                                      ? packed_end_
                                      : offsetof(rank_request, content) + words.size_bytes();
        packed_turn_ = 0;
        put_signal(memory_.at(rank_of(worker), memory_.layout.request(turn)),
                   std::as_bytes(std::span(&staged_, 1)).first(bytes),
                   memory_.signal_at(rank_of(worker), rank_layout::calls()), signal_set(turn),
                   made_at_);
    }

    /// Until one of the workers has ended one call more.
    void wait_for_any(std::int64_t deadline_ns) {
        // Who is called back meanwhile may wait here, too, and has a list of its own then.
        std::vector<machine::awaited_word> awaited = std::exchange(awaited_, {});
        awaited.clear();
        for (std::uint32_t worker = 0; worker < size(); ++worker) {
            detail::shared_word& word = ended(worker).word();
            const std::uint64_t known = detail::word_load(word);
            if (known < last_turns_[worker]) awaited.push_back({&word, known + 1});
        }
        if (awaited.empty()) {
            detail::let_others_run(context_);
        } else {
            detail::await(context_, {.word = *awaited.front().word,
                                     .at_least = awaited.front().at_least,
                                     .reason = machine::wait_reason::message,
                                     .deadline_ns = deadline_ns,
                                     .others = std::span(awaited).subspan(1)});
        }
        awaited_ = std::move(awaited);
    }

    /// They have seen that they are to stop.
    void wait_for_workers() {
        for (std::uint32_t worker = 0; worker < size(); ++worker) {
            wait_until(memory_.signal_at(context_.rank, rank_layout::ended(worker)),
                       last_turns_[worker] + 1, made_at_);
        }
    }

    detail::rank_context& context_;
    rank_memory memory_;
    std::source_location made_at_;
    std::vector<routine_shape> routines_;
    call_costs costs_;
    bool has_one_clock_;  ///< that of its workers as well
    std::vector<std::uint64_t> last_turns_;
    std::vector<machine::awaited_word> awaited_;  ///< memory for the list of who waits
    rank_request staged_{};
    std::uint64_t packed_turn_ = 0;
    std::size_t packed_end_ = 0;  ///< in the slot
};

/// What every rank has left, or less. Collective. @param slots_bytes that calls themselves need.
std::uint64_t choose_memory(const worker_pool_options& options, selion::world& world,
                            std::uint64_t slots_bytes, std::source_location site) {
    if (options.memory_bytes != 0) return options.memory_bytes;
    const heap_usage heap = world.heap();
    const std::uint64_t used = heap.used_bytes + heap.runtime_bytes;
    const std::uint64_t free = heap.reserved_bytes > used ? heap.reserved_bytes - used : 0;
    const std::uint64_t kept = std::min(heap_margin, free / margin_part) + slots_bytes;
    const std::uint64_t left = free > kept ? free - kept : 0;
    return world.all_reduce(std::min(left, standard_rank_memory), minimum, site);
}

std::uint32_t choose_workers(const worker_pool_options& options, const selion::world& world) {
    const std::uint32_t most = world.size() - 1;
    if (most == 0) {
        throw error(status::bad_argument,
                    "a pool whose workers are ranks needs two ranks at least: rank 0 is the host, "
                    "the others are its workers");
    }
    if (options.workers.value_or(most) > most) {
        throw error(status::bad_argument,
                    fmt::format("a pool of {} workers that are ranks, on a machine of {} ranks; at "
                                "most {} are possible, because rank 0 is the host",
                                *options.workers, world.size(), most));
    }
    return options.workers.value_or(most);
}

}  // namespace

rank_part make_rank_group(const worker_pool_options& options, selion::world& world,
                          std::source_location site) {
    detail::rank_context& context = *detail::current_context;
    if (context.deaths != nullptr) {
        throw error(status::not_available,
                    "a pool whose workers are ranks does not outlive one of them, as with "
                    "SELION_RANK_DEATH=report a job is to; leave that out, or use "
                    "worker_kind::process");
    }
    const std::uint32_t workers = choose_workers(options, world);
    const std::uint32_t slots = options.depth != 0 ? options.depth : standard_depth;
    const std::uint64_t slots_bytes = rank_layout(workers, slots, 0).bytes();
    const rank_layout layout(workers, slots, choose_memory(options, world, slots_bytes, site));
    const auto start = allocate<std::byte>(world, layout.bytes(), detail::line_bytes, site);
    const rank_memory memory{start, layout, options.measures};
    rank_part part;
    part.memory = {nullptr, [start, &world, site](void*) { deallocate(world, start, site); }};
    if (context.rank == 0) {
        part.host = std::make_unique<rank_workers>(context, memory, workers, site);
    } else if (context.rank <= workers) {
        part.worker = make_rank_server(context, memory);
    }
    return part;
}

}  // namespace selion::offload
