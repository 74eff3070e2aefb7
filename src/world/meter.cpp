// SPDX-License-Identifier: Apache-2.0
#include "selion/meter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "machine/process/run_history.hpp"
#include "meters/record/recorder.hpp"
#include "selion/detail/hash.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "world/meter_source.hpp"
#include "world/world_state.hpp"

namespace selion {
namespace detail {

/// A meter of one rank.
struct meter_state {
    rank_context* context = nullptr;
    const char* name = nullptr;
    std::uint32_t job = 0;  ///< number of the job that it belongs to
    std::string event;
    std::unique_ptr<meter_source> source;
    bool takes_hardware = false;
    bool is_running = false;
    std::int64_t begun = 0;
    std::int64_t begun_ps = 0;  ///< where the run is recorded
    std::source_location site;  ///< of its start
    std::int64_t overhead = 0;  ///< counts of a run of nothing
    std::int64_t total = 0;
    std::int64_t runs = 0;
};

namespace {

/// Whether the calling thread is the one of the meter's rank, and of the same job.
bool is_own(const meter_state& meter) {
    return current_context == meter.context && meter.job == machine::job_number();
}

std::string sentence_of_stranger(const meter_state& meter) {
    return fmt::format("meter \"{}\" belongs to another rank, thread or job", meter.name);
}

/// @return a meter's state, which one that has been moved away has no more.
meter_state& own_state(const std::unique_ptr<meter_state>& state,
                       std::source_location site = std::source_location::current()) {
    SELION_EXPECT_AT(state != nullptr, site,
                     "the meter has been moved away; use the one that it went to");
    return *state;
}

/// One of the rank's own, for as long as the job runs.
void take_hardware(rank_context& context, const char* name) {
    if (context.is_foreign_thread) {
        throw error(status::not_available,
                    fmt::format("meter \"{}\": hardware meters are the rank's own thread's, not "
                                "those of threads that joined it",
                                name));
    }
    std::vector<const char*>& taken = state_of(context).hardware_meters;
    if (taken.size() == hardware_meters) {
        throw error(status::bad_argument,
                    fmt::format("meter \"{}\": the rank's {} hardware meters are taken, by \"{}\"; "
                                "let one of them go, or make it a software meter where its event "
                                "is no processor's",
                                name, hardware_meters, fmt::join(taken, "\" and \"")));
    }
    taken.push_back(name);
}

void give_hardware_back(rank_context& context, const char* name) {
    std::vector<const char*>& taken = state_of(context).hardware_meters;
    const auto own = std::ranges::find(taken, name);
    if (own != taken.end()) taken.erase(own);
}

/// The usual count of a run of nothing: the middle one of some.
std::int64_t measure_overhead(meter_source& source) {
    constexpr std::size_t tries = 33;
    std::array<std::int64_t, tries> counts{};
    for (std::int64_t& count : counts) {
        const std::int64_t begun = source.read();
        count = source.read() - begun;
    }
    std::ranges::nth_element(counts, counts.begin() + tries / 2);
    return counts[tries / 2];
}

/// A run goes into what is recorded: as a timer where it is a time, else as a count. What has been
/// taken of recording it lies between begin and end, but is no part of what the meter has measured.
[[gnu::noinline]] void record_run(const meter_state& meter, std::int64_t amount) {
    meters::recorder& recorder = *meter.context->recorder;
    const std::int64_t now_ps = meter.context->clock->stamp_ps();
    const meter_source& source = *meter.source;
    const bool is_time = source.picoseconds != 0;
    const std::int64_t counted =
        std::llround(static_cast<double>(amount) * (is_time ? source.picoseconds : 1));
    const char* const file = meter.site.file_name();
    const std::uint32_t line = meter.site.line();
    if (source.seconds != 0) {
        recorder.record({.name = meter.name,
                         .start_ps = meter.begun_ps,
                         .end_ps = now_ps,
                         .line = line,
                         .file = file},
                        counted);
        return;
    }
    recorder.count(meter.name, counted, now_ps,
                   {.unit = is_time ? "ps" : source.unit, .file = file, .line = line});
}

}  // namespace
}  // namespace detail

meter::meter(const char* name, std::string_view event, meter_kind kind, std::source_location site)
    : state_(std::make_unique<detail::meter_state>()) {
    detail::rank_context& context = *detail::current_context;
    SELION_EXPECT_AT(context.ranks != 0, site, "meter: the calling thread belongs to no rank");
    SELION_EXPECT_AT(name != nullptr, site, "meter: the name is null");
    state_->context = &context;
    state_->name = name;
    state_->job = machine::job_number();
    state_->event = event;
    state_->source = detail::make_meter_source(context, event);
    const bool wants_hardware = kind == meter_kind::hardware;
    if (wants_hardware && !state_->source->may_take_hardware) {
        throw error(status::bad_argument,
                    fmt::format("meter \"{}\": no hardware counts {}; make it a software meter",
                                name, event));
    }
    if (wants_hardware || state_->source->needs_hardware) {
        detail::take_hardware(context, name);
        state_->takes_hardware = true;
    }
    if (!context.spends_time) state_->overhead = detail::measure_overhead(*state_->source);
}

/// A meter may outlive its rank: then there is nobody to give anything back to.
meter::~meter() {
    if (state_ == nullptr || !state_->takes_hardware || !detail::is_own(*state_)) return;
    detail::give_hardware_back(*state_->context, state_->name);
}

meter::meter(meter&& other) noexcept = default;
meter& meter::operator=(meter&& other) noexcept {
    if (this == &other) return *this;
    const meter gone(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

void meter::start(std::source_location site) {
    detail::meter_state& own = detail::own_state(state_, site);
    SELION_EXPECT_AT(detail::is_own(own), site, detail::sentence_of_stranger(own));
    SELION_EXPECT_AT(!own.is_running, site, fmt::format("meter \"{}\" runs already", own.name));
    own.is_running = true;
    own.site = site;
    if (own.context->recorder != nullptr) [[unlikely]]
        own.begun_ps = own.context->clock->stamp_ps();
    own.begun = own.source->read();
}

void meter::stop(std::source_location site) {
    detail::meter_state& own = detail::own_state(state_, site);
    SELION_EXPECT_AT(detail::is_own(own), site, detail::sentence_of_stranger(own));
    const std::int64_t now = own.source->read();
    SELION_EXPECT_AT(own.is_running, site, fmt::format("meter \"{}\" does not run", own.name));
    own.is_running = false;
    const std::int64_t amount = std::max<std::int64_t>(now - own.begun - own.overhead, 0);
    own.total += amount;
    ++own.runs;
    if (own.context->recorder != nullptr) [[unlikely]]
        detail::record_run(own, amount);
}

bool meter::is_own() const { return state_ != nullptr && detail::is_own(*state_); }
bool meter::is_running() const { return detail::own_state(state_).is_running; }

double meter::value() const {
    return static_cast<double>(detail::own_state(state_).total) *
           detail::own_state(state_).source->scale;
}

std::string_view meter::unit() const { return detail::own_state(state_).source->unit; }

const std::string& meter::event() const { return detail::own_state(state_).event; }

const char* meter::name() const { return detail::own_state(state_).name; }

std::int64_t meter::runs() const { return detail::own_state(state_).runs; }

double meter::overhead() const {
    return static_cast<double>(detail::own_state(state_).overhead) *
           detail::own_state(state_).source->scale;
}

double meter::seconds_per_unit() const { return detail::own_state(state_).source->seconds; }

void meter::reset(std::source_location site) {
    detail::meter_state& own = detail::own_state(state_, site);
    SELION_EXPECT_AT(!own.is_running, site,
                     fmt::format("meter \"{}\" runs: stop it before reset()", own.name));
    own.total = own.runs = 0;
}

std::vector<meter_event_info> meter_events(std::source_location site) {
    detail::rank_context& context = *detail::current_context;
    SELION_EXPECT_AT(context.ranks != 0, site,
                     "meter_events: the calling thread belongs to no rank");
    return detail::list_meter_events(context);
}

meter_summary summarise(const team& members, const meter& own, std::source_location site) {
    const std::uint64_t event = detail::text_hash(own.event());
    SELION_EXPECT_AT(
        members.all_reduce(event, minimum, site) == members.all_reduce(event, maximum, site), site,
        fmt::format("summarise: the members' meters count different events, here {}", own.event()));
    meter_summary all;
    all.by_member = members.all_gather(own.value(), site);
    for (const double value : all.by_member) all.sum += value;
    const auto [least, most] = std::ranges::minmax(all.by_member);
    all.least = least;
    all.most = most;
    all.mean = all.sum / static_cast<double>(all.by_member.size());
    return all;
}

}  // namespace selion
