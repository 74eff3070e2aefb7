// SPDX-License-Identifier: Apache-2.0
#include "selion/meters.hpp"

#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"

namespace selion {

void count(const char* name, std::int64_t amount) {
    const detail::rank_context& context = *detail::current_context;
    if (context.recorder != nullptr) context.recorder->count(name, amount);
}

timer_scope::timer_scope(const char* name, std::source_location site)
    : name_(name),
      file_(site.file_name()),
      started_ns_(0),
      line_(site.line()),
      is_recorded_(detail::current_context->recorder != nullptr) {
    if (is_recorded_) started_ns_ = detail::current_context->clock->now_ns();
}

timer_scope::~timer_scope() {
    detail::rank_context& context = *detail::current_context;
    if (!is_recorded_ || context.recorder == nullptr) return;
    context.recorder->record({name_, started_ns_, context.clock->now_ns(), 0, file_, line_});
}

std::vector<meter_reading> read_meters() {
    const detail::rank_context& context = *detail::current_context;
    return context.recorder == nullptr ? std::vector<meter_reading>{}
                                       : context.recorder->readings();
}

}  // namespace selion
