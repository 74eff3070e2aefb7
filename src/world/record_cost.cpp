// SPDX-License-Identifier: Apache-2.0
#include "world/record_cost.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "machine/host/host.hpp"
#include "meters/record/recorder.hpp"

namespace selion::detail {
namespace {

constexpr int batches = 5;
constexpr int events_in_batch = 500;

class no_file final : public meters::trace_sink {
public:
    bool write(std::string_view) override { return true; }
};

}  // namespace

std::int64_t measure_event_cost_ps() {
    no_file sink;
    meters::recorder recorder(std::make_unique<meters::trace_buffer>(
        0, meters::trace_buffer::limits{.events_at_once = events_in_batch}, sink));
    std::array<std::int64_t, batches> taken_ns{};
    for (std::int64_t& taken : taken_ns) {
        const std::int64_t start_ns = machine::host_time_ns();
        for (int i = 0; i < events_in_batch; ++i) {
            recorder.begin_operation();
            const std::int64_t begun_ps = machine::host_time_ns() * 1000;
            recorder.record({.name = "put",
                             .start_ps = begun_ps,
                             .end_ps = machine::host_time_ns() * 1000,
                             .kind = meters::slice_kind::operation,
                             .line = 1,
                             .file = __FILE__,
                             .bytes = 8,
                             .peer = 1,
                             .flow_out = recorder.end_operation()});
        }
        recorder.trace().write();
        taken = machine::host_time_ns() - start_ns;
    }
    // The middle one: the first warms up, and one may be interrupted.
    std::ranges::nth_element(taken_ns, taken_ns.begin() + batches / 2);
    return taken_ns[batches / 2] * 1000 / events_in_batch;
}

}  // namespace selion::detail
