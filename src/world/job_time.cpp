// SPDX-License-Identifier: Apache-2.0
#include "world/job_time.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "meters/record/trace_text.hpp"
#include "world/locked_file.hpp"
#include "world/named_file.hpp"

namespace selion::detail {
namespace {

constexpr int append_only = O_CREAT | O_APPEND;
constexpr double ps_per_second = 1e12;

}  // namespace

job_time::job_time(const machine_description& description, std::string path)
    : path_(std::move(path)), description_(description) {}

void job_time::expect_file() const {
    if (path_.empty()) return;
    expect_no_pipe(path_, base::knob::time);
    expect_no_output_file(path_, base::knob::time);
    if (!locked_file(path_, append_only).is_open()) refuse_file(path_, base::knob::time);
}

void job_time::begin(rank_context& context) {
    if (path_.empty() || context.rank != 0) return;
    begin_ps_ = context.clock->stamp_ps();
}

void job_time::end(rank_context& context) {
    if (path_.empty()) return;
    const std::int64_t now_ps = context.clock->stamp_ps();
    if (description_.capabilities.real_time) {
        if (context.rank == 0) write(now_ps - begin_ps_);
        return;
    }
    // relaxed: ranks of simulated machines run one at a time
    std::int64_t latest = end_ps_.load(std::memory_order_relaxed);
    while (latest < now_ps &&
           !end_ps_.compare_exchange_weak(latest, now_ps, std::memory_order_relaxed)) {
    }
}

void job_time::end_simulation() const {
    if (path_.empty() || description_.capabilities.real_time) return;
    write(end_ps_.load(std::memory_order_relaxed));
}

void job_time::write(std::int64_t ps) const {
    const std::string line =
        fmt::format(R"({{"machine":{},"ranks":{},"seconds":{:.12f},"clock":"{}"}})"
                    "\n",
                    meters::quoted(description_.spec), description_.ranks,
                    static_cast<double>(ps) / ps_per_second,
                    description_.capabilities.real_time ? "real" : "virtual");
    const locked_file file(path_, append_only);
    if (file.is_open() && file.append(line)) return;
    base::say(fmt::format("warning: the job's time is lost: cannot write {} ({})", path_,
                          std::strerror(errno)));
}

}  // namespace selion::detail
