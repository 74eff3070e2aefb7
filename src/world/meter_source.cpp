// SPDX-License-Identifier: Apache-2.0
#include "world/meter_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/nearest_name.hpp"
#include "machine/host/processor_counter.hpp"
#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"
#include "selion/error.hpp"

namespace selion::detail {
namespace {

constexpr std::array<std::string_view, meters::router_ports> port_names{"core", "east", "south",
                                                                        "west", "north"};
constexpr std::array<std::string_view, meters::sent_kinds> kind_names{"put", "get", "atomic",
                                                                      "message"};
constexpr double picoseconds_per_second = 1e12;
constexpr double nanoseconds_per_second = 1e9;
constexpr double picoseconds_per_ns = 1e3;

/// An event and its part: "mesh_wait" and "east".
struct named_event {
    std::string_view name;
    std::string_view part;  ///< empty: all of them
};

named_event split(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              std::span<const std::string_view> legal) {
    throw error(status::bad_argument,
                fmt::format("there is no {} '{}'{}; there are {}", what, name,
                            base::did_you_mean(name, legal, "'"), fmt::join(legal, ", ")));
}

/// @return where the part stands in its list; nothing where the event is wanted as a whole.
std::optional<std::size_t> index_of(const named_event& event, std::string_view what,
                                    std::span<const std::string_view> legal) {
    if (event.part.empty()) return {};
    const auto found = std::ranges::find(legal, event.part);
    if (found == legal.end()) refuse_name(what, event.part, legal);
    return static_cast<std::size_t>(found - legal.begin());
}

/// Counts of ticks are shown in cycles where the machine names a clock, else in nanoseconds.
void show_as_time(meter_source& ticks, const machine::tick_scale& scale) {
    const bool has_cycles = scale.per_cycle != 0;
    ticks.unit = has_cycles ? "cycles" : "ns";
    ticks.scale = has_cycles ? 1 / scale.per_cycle : nanoseconds_per_second / scale.per_second;
    ticks.picoseconds = picoseconds_per_second / scale.per_second;
}

class clock_source final : public meter_source {
public:
    explicit clock_source(machine::clock& clock) : clock_(clock) {
        const machine::tick_scale ticks = clock.scale_of_ticks();
        show_as_time(*this, ticks);
        seconds = 1 / (ticks.per_second * scale);
        may_take_hardware = true;
    }
    std::int64_t read() override { return clock_.stamp_ticks(); }

private:
    machine::clock& clock_;
};

/// Something that the machine, the recorder or the kernel counts anyway.
class counted_source final : public meter_source {
public:
    explicit counted_source(std::function<std::int64_t()> count) : count_(std::move(count)) {}
    std::int64_t read() override { return count_(); }

private:
    std::function<std::int64_t()> count_;
};

std::unique_ptr<meter_source> counted(const char* unit, std::function<std::int64_t()> count) {
    auto made = std::make_unique<counted_source>(std::move(count));
    made->unit = unit;
    return made;
}

// Events of the recorder.

constexpr std::array<std::string_view, 8> operation_names{"put",    "get",   "put_signal", "store",
                                                          "atomic", "quiet", "send",       "rpc"};
constexpr std::array<std::string_view, 14> collective_names{
    "barrier",        "sync", "arrive", "wait",       "broadcast", "reduce",  "all_reduce",
    "reduce_scatter", "scan", "exscan", "all_gather", "gather",    "scatter", "exchange"};
constexpr std::array<std::string_view, 7> wait_names{"signal", "counter", "message", "collective",
                                                     "quiet",  "start",   "end"};

using meters::slice_kind;
using recorded_field = std::int64_t meters::recorder::amount::*;
struct recorded_event {
    std::string_view name;
    const char* unit;
    slice_kind kind;
    recorded_field field;
    std::span<const std::string_view> parts;
    std::string_view prefix;  ///< of a part, as the recorder writes it
};
constexpr std::array<recorded_event, 4> recorded_events{{
    {"operations", "operations", slice_kind::operation, &meters::recorder::amount::count,
     operation_names, ""},
    {"bytes", "bytes", slice_kind::operation, &meters::recorder::amount::bytes, operation_names,
     ""},
    {"collectives", "calls", slice_kind::collective, &meters::recorder::amount::count,
     collective_names, ""},
    {"waits", "ns", slice_kind::wait, &meters::recorder::amount::duration_ps, wait_names, "wait: "},
}};

std::string why_not_recorded(rank_context& context) {
    if (context.recorder != nullptr) return {};
    return "operations are only counted while the job is recorded: set SELION_METERS=1";
}

std::unique_ptr<meter_source> recorded(rank_context& context, const recorded_event& what,
                                       std::string_view part) {
    const meters::recorder& from = *context.recorder;
    const recorded_field field = what.field;
    std::unique_ptr<meter_source> made;
    if (part.empty()) {
        made = counted(what.unit,
                       [&from, field, kind = what.kind] { return from.amount_of(kind).*field; });
    } else {
        std::string name = fmt::format("{}{}", what.prefix, part);
        made = counted(what.unit, [&from, field, kind = what.kind, name = std::move(name)] {
            return from.amount_of(kind, name).*field;
        });
    }
    if (what.field == &meters::recorder::amount::duration_ps) {
        made->scale = 1 / picoseconds_per_ns;
        made->picoseconds = 1;
    }
    return made;
}

// Events of networks.

std::string why_no_messages(rank_context& context) {
    if (context.transport->sent_messages(context) != nullptr) return {};
    return "only simulated machines and fabric count every message";
}

std::unique_ptr<meter_source> of_messages(rank_context& context, const named_event& event) {
    const auto kind = index_of(event, "kind of message", kind_names);
    const meters::sent_messages& sent = *context.transport->sent_messages(context);
    const bool is_bytes = event.name == "message_bytes";
    return counted(is_bytes ? "bytes" : "messages", [&sent, kind, is_bytes] {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < sent.by_kind.size(); ++i) {
            if (kind && *kind != i) continue;
            const meters::sent_messages::amount& amount = sent.by_kind[i];
            const std::uint64_t& counted = is_bytes ? amount.bytes : amount.messages;
            // Any thread of the rank counts.
            sum += std::atomic_ref(const_cast<std::uint64_t&>(counted))
                       .load(std::memory_order_relaxed);
        }
        return static_cast<std::int64_t>(sum);
    });
}

std::string why_no_routers(rank_context& context) {
    if (context.transport->router_events(context)) return {};
    return "this machine has no mesh whose routers are simulated one by one; sim:epiphany-iii has";
}

std::unique_ptr<meter_source> of_router_waits(rank_context& context,
                                              std::optional<std::size_t> port) {
    auto made = counted("cycles", [&context, port] {
        const meters::router_events seen = *context.transport->router_events(context);
        return port ? seen.waits[*port] : seen.any_wait;
    });
    show_as_time(*made, context.clock->scale_of_ticks());
    made->may_take_hardware = true;
    return made;
}

std::unique_ptr<meter_source> of_router(rank_context& context, const named_event& event) {
    const auto port = index_of(event, "port of a router", port_names);
    if (event.name == "mesh_wait") return of_router_waits(context, port);
    const auto field = event.name == "mesh_bytes" ? &meters::router_events::bytes
                                                  : &meters::router_events::accesses;
    auto made =
        counted(event.name == "mesh_bytes" ? "bytes" : "transactions", [&context, port, field] {
            const auto seen = *context.transport->router_events(context);
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < meters::router_ports; ++i) {
                if (!port || *port == i) sum += (seen.*field)[i];
            }
            return static_cast<std::int64_t>(sum);
        });
    made->may_take_hardware = true;
    return made;
}

// Events of the processor.

std::string why_no_processor(rank_context& context, const machine::processor_event& what) {
    if (context.spends_time) return "time is virtual: the host's processor says nothing about it";
    if (context.group_size > 1)
        return "several ranks share a thread, whose events the kernel counts";
    const auto tried = machine::make_processor_counter(what);
    return tried ? std::string() : tried.trouble().what();
}

std::unique_ptr<meter_source> of_processor(const machine::processor_event& what) {
    std::shared_ptr<machine::processor_counter> counter =
        std::move(machine::make_processor_counter(what)).value();
    auto made = counted(what.unit, [counter] { return counter->read(); });
    made->needs_hardware = made->may_take_hardware = true;
    return made;
}

// All of them.

/// One event: what it is called, what may follow, whether it can be counted, and how.
struct event_kind {
    std::string_view name;
    std::string_view unit;
    std::span<const std::string_view> parts;
    std::function<std::string(rank_context&)> why_not;
    std::function<std::unique_ptr<meter_source>(rank_context&, const named_event&)> make;
};

std::string always(rank_context&) { return {}; }

std::vector<event_kind> all_kinds() {
    std::vector<event_kind> all;
    all.push_back(
        {"clock", "cycles or ns", {}, always, [](rank_context& context, const named_event&) {
             return std::make_unique<clock_source>(*context.clock);
         }});
    for (const recorded_event& each : recorded_events) {
        all.push_back({each.name, each.unit, each.parts, why_not_recorded,
                       [each](rank_context& context, const named_event& event) {
                           return recorded(context, each, event.part);
                       }});
    }
    all.push_back({"messages", "messages", kind_names, why_no_messages, of_messages});
    all.push_back({"message_bytes", "bytes", kind_names, why_no_messages, of_messages});
    all.push_back({"mesh_wait", "cycles", port_names, why_no_routers, of_router});
    all.push_back({"mesh_access", "transactions", port_names, why_no_routers, of_router});
    all.push_back({"mesh_bytes", "bytes", port_names, why_no_routers, of_router});
    for (const machine::processor_event& each : machine::processor_events()) {
        all.push_back({each.name,
                       each.unit,
                       {},
                       [each](rank_context& context) { return why_no_processor(context, each); },
                       [each](rank_context&, const named_event&) { return of_processor(each); }});
    }
    return all;
}

}  // namespace

std::unique_ptr<meter_source> make_meter_source(rank_context& context, std::string_view text) {
    const named_event event = split(text);
    const std::vector<event_kind> kinds = all_kinds();
    const auto found = std::ranges::find(kinds, event.name, &event_kind::name);
    if (found == kinds.end()) {
        std::vector<std::string_view> names;
        for (const event_kind& each : kinds) names.push_back(each.name);
        refuse_name("event", event.name, names);
    }
    const bool has_part = text.find(':') != text.npos;
    if (has_part && found->parts.empty()) {
        throw error(status::bad_argument,
                    fmt::format("{} has no parts; leave ':{}' out", event.name, event.part));
    }
    if (!found->parts.empty()) index_of(event, "part of this event", found->parts);
    if (has_part && event.part.empty()) {
        throw error(status::bad_argument, fmt::format("'{}' names no part after its colon", text));
    }
    if (const std::string reason = found->why_not(context); !reason.empty()) {
        throw error(status::not_available,
                    fmt::format("{} is not available here: {}", event.name, reason));
    }
    return found->make(context, event);
}

std::vector<meter_event_info> list_meter_events(rank_context& context) {
    std::vector<meter_event_info> all;
    for (const event_kind& each : all_kinds()) {
        std::string reason = each.why_not(context);
        const bool is_available = reason.empty();
        all.push_back({std::string(each.name),
                       std::string(each.unit),
                       {each.parts.begin(), each.parts.end()},
                       is_available,
                       std::move(reason)});
    }
    return all;
}

}  // namespace selion::detail
