// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>

#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::detail {

/// Records one operation for its lifetime, if anything is recorded.
class operation_meter {
public:
    operation_meter(rank_context& context, const char* name, std::size_t bytes,
                    std::source_location site, std::uint32_t peer = meters::nobody)
        : context_(context) {
        if (context.recorder == nullptr) return;
        context.recorder->begin_operation();
        event_.emplace(meters::occurrence{.name = name,
                                          .start_ps = context.clock->stamp_ps(),
                                          .kind = meters::slice_kind::operation,
                                          .line = site.line(),
                                          .file = site.file_name(),
                                          .bytes = bytes,
                                          .peer = peer});
    }
    ~operation_meter() {
        if (!event_) return;
        event_->end_ps = context_.clock->stamp_ps();
        event_->flow_out = context_.recorder->end_operation();
        context_.recorder->record(*event_);
    }
    operation_meter(const operation_meter&) = delete;
    operation_meter& operator=(const operation_meter&) = delete;

private:
    rank_context& context_;
    std::optional<meters::occurrence> event_;
};

}  // namespace selion::detail
