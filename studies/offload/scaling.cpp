// SPDX-License-Identifier: Apache-2.0
// Many workers and one host: rounds of calls whose arguments, computing and results take given
// times, beside what the model says.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "experiments.hpp"
#include "timing.hpp"

namespace offload {
namespace {

using selion::model_time;
using selion::worker_pool;

/// Computes for a time; what it reads and writes travels.
const selion::routine spend{
    "spend", [](std::int64_t picoseconds, std::span<const std::byte>, std::span<std::byte>) {
        selion::work idle;
        idle.picoseconds = picoseconds;
        selion::charge(idle);
    }};
/// The same in real time.
const selion::routine spin{
    "spin", [](std::int64_t picoseconds, std::span<const std::byte>, std::span<std::byte>) {
        const auto end =
            std::chrono::steady_clock::now() + std::chrono::nanoseconds(picoseconds / 1000);
        while (std::chrono::steady_clock::now() < end) {
        }
    }};

struct point {
    std::uint32_t workers = 1;
    double in_us = 0;
    double out_us = 0;
    double compute_us = 0;
    bool is_pipelined = false;
    bool is_same_for_all = false;
    bool has_old_bytes = false;  ///< times are those of the source's bus, this one is another

    /// What one worker gets of it.
    double share(double us) const { return is_same_for_all ? us : us / workers; }
};

double read_time(const nlohmann::ordered_json& params, const char* key) {
    const auto us = study::parameter<double>(params, key);
    constexpr double most_us = 1e9;
    if (us >= 0 && us <= most_us) return us;
    throw study::bad_argument(std::string("'") + key + "' is " + std::to_string(us) +
                              "; legal: 0 to 1e9.");
}

/// Times of one call on one worker with so many bytes each way.
struct call_times {
    double in_us;
    double out_us;
    double whole_us() const { return in_us + out_us; }
};

/// A host whose calls take given times.
class rounds {
public:
    rounds(selion::world& world, worker_pool& pool, const point& wanted)
        : world_(world),
          pool_(pool),
          wanted_(wanted),
          is_real_(world.machine().capabilities.real_time) {
        settle(world);
        in_bytes_ = bytes_for(wanted.share(wanted.in_us), true);
        out_bytes_ = bytes_for(wanted.share(wanted.out_us), false);
    }

    /// Why this host cannot do it; empty: it can.
    std::string refusal() const {
        const std::uint64_t most = pool_options(world_).memory_bytes - spare_bytes;
        const std::uint64_t wanted = (in_bytes_ + out_bytes_) * pool_.depth();
        if (!is_real_ || wanted <= most) return {};
        return "transfers that take so long have " + std::to_string(wanted >> 20) +
               " MiB on this host, and a worker has room for " + std::to_string(most >> 20);
    }
    /// Whether a call without arrays takes longer than its share: then so do transfers.
    bool is_short() const { return is_short_; }
    /// Before anything is measured.
    void make_arrays() {
        in_.resize(std::max(in_.size(), in_bytes_));
        outs_.assign(wanted_.workers, std::vector<std::byte>(out_bytes_));
    }

    /// Mean time of a round.
    double measure() {
        if (!wanted_.is_pipelined) return least_us(world_, [&] { run_plain(); });
        constexpr std::uint32_t few = 8;
        constexpr std::uint32_t many = 24;
        const double few_us = least_us(world_, [&] { run_pipelined(few); });
        const double many_us = least_us(world_, [&] { run_pipelined(many); });
        return (many_us - few_us) / (many - few);
    }
    /// What this round's transfers take, all together.
    call_times transfers() {
        const call_times none = call(0, 0);
        const call_times sent = call(in_bytes_, 0);
        // In real time what a worker does meanwhile decides where data lie.
        const call_times each = call(in_bytes_, out_bytes_, is_real_ ? compute_us() : 0);
        // By DMA the host is free at once, and its own time does not say what a transfer takes.
        const double bytes_us = sent.whole_us() - none.whole_us();
        const double in_us = is_real_ ? each.in_us : std::max(each.in_us, bytes_us);
        const double out_us = is_real_ ? each.out_us : each.whole_us() - in_us;
        return {in_us * whole(), out_us * whole()};
    }

private:
    /// For what a call has beside its arrays.
    static constexpr std::uint64_t spare_bytes = std::uint64_t{1} << 20;

    double whole() const { return wanted_.is_same_for_all ? 1 : wanted_.workers; }

    selion::routine_call<> start(std::uint32_t worker, std::size_t in, std::span<std::byte> out,
                                 double compute_us) {
        const auto picoseconds = static_cast<std::int64_t>(compute_us * 1e6);
        const std::span<const std::byte> sent = std::span(in_).first(in);
        const selion::call_options where{.worker = worker};
        return is_real_ ? pool_.call(where, spin, picoseconds, sent, selion::out(out))
                        : pool_.call(where, spend, picoseconds, sent, selion::out(out));
    }

    /// One call alone: its way there, and its way back; in virtual time without computing.
    call_times call(std::size_t in_bytes, std::size_t out_bytes, double computing_us = 0) {
        if (in_.size() < in_bytes) in_.resize(in_bytes);
        std::vector<std::byte> out(out_bytes);
        double in_us = 1e9;
        double out_us = 1e9;
        const double whole_us = least_us(world_, [&] {
            const selion::pool_profile before = pool_.profile();
            start(0, in_bytes, out, computing_us).wait();
            const selion::pool_profile after = pool_.profile();
            in_us = std::min(in_us, (after.in - before.in).count() * 1e6);
            out_us = std::min(out_us, (after.out - before.out).count() * 1e6);
        });
        // In virtual time the worker's notice is a transfer as well, and part of the way back.
        if (!is_real_) out_us = whole_us - in_us;
        return {in_us, out_us};
    }

    /// As many bytes as take so long in one direction, beside what a call takes without.
    std::size_t bytes_for(double us, bool is_in) {
        constexpr double old_write_mb_per_s = 7;
        constexpr double old_read_mb_per_s = 3.22;
        if (wanted_.has_old_bytes) {
            return static_cast<std::size_t>(us * (is_in ? old_write_mb_per_s : old_read_mb_per_s));
        }
        const std::size_t many = is_real_ ? std::size_t{4} << 20 : std::size_t{1} << 16;
        const call_times none = call(0, 0);
        const call_times some = is_in ? call(many, 0) : call(0, many);
        const double fixed_us = is_in ? none.in_us : none.out_us;
        const double byte_us =
            ((is_in ? some.in_us : some.out_us) - fixed_us) / static_cast<double>(many);
        const double bytes = (us - fixed_us) / byte_us;
        if (bytes < 0) is_short_ = true;
        return bytes <= 0 ? 0 : static_cast<std::size_t>(std::llround(bytes));
    }

    double compute_us() const { return wanted_.compute_us / wanted_.workers; }

    void run_plain() {
        std::vector<selion::routine_call<>> calls;
        for (std::uint32_t worker = 0; worker < wanted_.workers; ++worker) {
            calls.push_back(start(worker, in_bytes_, outs_[worker], compute_us()));
        }
        pool_.wait_all();
    }

    void run_pipelined(std::uint32_t count) {
        std::vector<selion::routine_call<>> calls;
        for (std::uint32_t round = 0; round < count; ++round) {
            for (std::uint32_t worker = 0; worker < wanted_.workers; ++worker) {
                calls.push_back(start(worker, in_bytes_, outs_[worker], compute_us()));
            }
        }
        pool_.wait_all();
    }

    selion::world& world_;
    worker_pool& pool_;
    point wanted_;
    bool is_real_;
    bool is_short_ = false;
    std::size_t in_bytes_ = 0;
    std::size_t out_bytes_ = 0;
    std::vector<std::byte> in_;
    std::vector<std::vector<std::byte>> outs_;
};

void print_point(selion::world& world, worker_pool& pool, const point& wanted, bool has_overlap,
                 const study::row_frame& frame) {
    rounds host(world, pool, wanted);
    if (const std::string reason = host.refusal(); !reason.empty()) {
        std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
        return;
    }
    host.make_arrays();
    const double total_us = host.measure();
    const bool is_unknown =
        world.machine().capabilities.real_time || wanted.has_old_bytes || host.is_short();
    const call_times moved =
        is_unknown ? host.transfers() : call_times{wanted.in_us, wanted.out_us};
    constexpr double microsecond = 1e-6;
    const selion::offload_work work{
        model_time(moved.in_us * microsecond), model_time(moved.out_us * microsecond),
        model_time(wanted.compute_us * microsecond), wanted.is_same_for_all};
    const selion::call_pattern pattern = !wanted.is_pipelined ? selion::call_pattern::plain
                                         : has_overlap        ? selion::call_pattern::overlapped
                                                              : selion::call_pattern::pipelined;
    const selion::offload_prediction predicted =
        selion::predict_offload(work, {.workers = wanted.workers, .pattern = pattern}, 0);
    using study::detail::rounded;
    const double alone_us = moved.in_us + moved.out_us + wanted.compute_us;
    const double bus_us =
        (moved.in_us + moved.out_us) * (wanted.is_same_for_all ? wanted.workers : 1);
    constexpr double nearly = 1.005;
    study::print_row(frame, {"total_us", "us"}, rounded(total_us));
    study::print_row(frame, {"predicted_us", "us"}, rounded(predicted.total.count() * 1e6));
    study::print_row(frame, {"speedup", ""}, rounded(alone_us / total_us));
    study::print_row(frame, {"saturated", ""}, total_us <= bus_us * nearly);
}

}  // namespace

measurement read_scaling(const study::arguments& given) {
    point wanted;
    const auto workers = study::parameter<std::uint64_t>(given.params, "workers");
    if (workers < 1 || workers > 64) {
        throw study::bad_argument("'workers' is " + std::to_string(workers) + "; legal: 1 to 64.");
    }
    wanted.workers = static_cast<std::uint32_t>(workers);
    wanted.in_us = read_time(given.params, "t_in_us");
    wanted.out_us = read_time(given.params, "t_out_us");
    wanted.compute_us = read_time(given.params, "t_c_us");
    wanted.is_pipelined = study::parameter<bool>(given.params, "pipelined");
    wanted.is_same_for_all = study::parameter<bool>(given.params, "broadcast");
    wanted.has_old_bytes = given.experiment == "improvements";
    return [wanted](selion::world& world, const study::row_frame& frame) {
        selion::worker_pool_options options = pool_options(world, wanted.workers);
        if (!world.machine().capabilities.real_time) options.memory_bytes = std::uint64_t{4} << 20;
        if (!world.machine().capabilities.moves_idle_ranks_only) options.depth = 2;
        worker_pool pool(world, options);
        if (pool.is_host()) print_point(world, pool, wanted, pool.depth() > 1, frame);
    };
}

}  // namespace offload
