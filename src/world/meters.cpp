// SPDX-License-Identifier: Apache-2.0
#include "selion/meters.hpp"

#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"

namespace selion {

void count(const char* name, std::int64_t amount) {
    const detail::rank_context& context = *detail::current_context;
    if (context.recorder == nullptr) return;
    const std::int64_t now_ps = context.recorder->has_trace() ? context.clock->stamp_ps() : 0;
    context.recorder->count(name, amount, now_ps);
}

timer_scope::timer_scope(const char* name, std::source_location site)
    : name_(name),
      file_(site.file_name()),
      started_ps_(0),
      line_(site.line()),
      is_recorded_(detail::current_context->recorder != nullptr) {
    if (is_recorded_) started_ps_ = detail::current_context->clock->stamp_ps();
}

timer_scope::~timer_scope() {
    detail::rank_context& context = *detail::current_context;
    if (!is_recorded_ || context.recorder == nullptr) return;
    context.recorder->record({.name = name_,
                              .start_ps = started_ps_,
                              .end_ps = context.clock->stamp_ps(),
                              .line = line_,
                              .file = file_});
}

std::vector<meter_reading> read_meters() {
    const detail::rank_context& context = *detail::current_context;
    return context.recorder == nullptr ? std::vector<meter_reading>{}
                                       : context.recorder->readings();
}

std::vector<meter_reading> read_meters_by_line() {
    const detail::rank_context& context = *detail::current_context;
    return context.recorder == nullptr ? std::vector<meter_reading>{}
                                       : context.recorder->readings_by_line();
}

}  // namespace selion
