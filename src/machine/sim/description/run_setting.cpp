// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/run_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/knobs.hpp"
#include "base/units.hpp"
#include "machine/host/host.hpp"
#include "machine/sim/engine/stack_region.hpp"

namespace selion::machine::sim {
namespace {

/// Sanitizers make frames several times larger.
constexpr std::uint64_t stack_factor = is_sanitized() ? 4 : 1;

/// A number and where it ends.
std::optional<double> leading_number(std::string_view& text) {
    double value = 0;
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (trouble != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// "5us", less than a million seconds, as picoseconds.
std::optional<std::int64_t> time_ps(std::string_view text) {
    const std::optional<double> value = leading_number(text);
    if (!value) return std::nullopt;
    for (const auto& [unit, ps] :
         {std::pair{"ps", 1.0}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}) {
        if (text == unit && *value * ps < 1e18) return std::llround(*value * ps);
    }
    return std::nullopt;
}

std::optional<double> plain_number(std::string_view text) {
    const std::optional<double> value = leading_number(text);
    return text.empty() ? value : std::nullopt;
}

/// "LEFT<separator>RIGHT" in its parts.
std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view text,
                                                                    char separator) {
    const auto place = text.find(separator);
    if (place == std::string_view::npos) return std::nullopt;
    return std::pair{text.substr(0, place), text.substr(place + 1)};
}

bool set_context(run_setting& setting, std::string_view value) {
    setting.has_threads = value == "threads";
    return setting.has_threads || value == "fibers";
}

bool set_seed(run_setting& setting, std::string_view value) {
    const auto seed = base::parse_whole(value);
    if (seed) setting.seed = *seed;
    return seed.has_value();
}

bool set_exploration(run_setting& setting, std::string_view value) {
    setting.explore = value == "random"   ? exploration::random
                      : value == "delays" ? exploration::delays
                                          : exploration::off;
    return setting.explore != exploration::off || value == "off";
}

bool set_compute(run_setting& setting, std::string_view value) {
    if (value == "charged") return true;
    const auto parts = halves(value, 'x');
    if (value != "measured" && (!parts || parts->first != "measured")) return false;
    const std::optional<double> scale = parts ? plain_number(parts->second) : 1.0;
    setting.host_time_scale = scale.value_or(0);
    return setting.host_time_scale > 0 && setting.host_time_scale <= 1e6;
}

bool set_delay(run_setting& setting, std::string_view value) {
    const auto parts = halves(value, '@');
    if (!parts) return false;
    const auto probability = plain_number(parts->first);
    const auto late = time_ps(parts->second);
    if (!probability || *probability > 1 || !late) return false;
    setting.delay_probability = *probability;
    setting.delay_ps = *late;
    return true;
}

bool set_loss(run_setting& setting, std::string_view value) {
    const auto probability = plain_number(value);
    // Nearly all lost is a message that never comes, by a loop without an end.
    if (!probability || *probability > 0.999) return false;
    setting.loss_probability = *probability;
    return true;
}

bool set_payload(run_setting& setting, std::string_view value) {
    setting.has_payload = value == "bytes";
    return setting.has_payload || value == "none";
}

bool add_kill(run_setting& setting, std::string_view value) {
    const auto parts = halves(value, '@');
    if (!parts) return false;
    const auto rank = base::parse_whole(parts->first);
    const auto at = time_ps(parts->second);
    if (!rank || *rank > UINT32_MAX || !at) return false;
    setting.kills.push_back({static_cast<std::uint32_t>(*rank), *at});
    return true;
}

bool add_slow(run_setting& setting, std::string_view value) {
    const auto parts = halves(value, 'x');
    if (!parts) return false;
    const auto rank = base::parse_whole(parts->first);
    const auto factor = plain_number(parts->second);
    if (!rank || *rank > UINT32_MAX || !factor || *factor < 0.001 || *factor > 1e6) return false;
    return setting.slow.emplace(static_cast<std::uint32_t>(*rank), *factor).second;
}

struct run_option {
    std::string_view key;
    std::string_view form;
    bool (*set)(run_setting&, std::string_view);
    bool takes_several = false;  ///< values, with + between them
};

constexpr run_option run_options[] = {
    {"compute",
     "charged, measured or measuredxFACTOR (host time, not deterministic); the factor is at most "
     "1000000",
     set_compute},
    {"context", "fibers or threads", set_context},
    {"delay", "PROBABILITY@TIME, for example 0.01@50us; the time is less than 1000000s", set_delay},
    {"explore", "off, random or delays", set_exploration},
    {"kill", "RANK@TIME, for example 3@5us; the time is less than 1000000s", add_kill, true},
    {"loss", "a probability of at most 0.999, for example 0.001", set_loss},
    {"payload", "bytes or none (times alone: long puts and gets do not move their data)",
     set_payload},
    {"seed", "a whole number below 2^64", set_seed},
    {"slow",
     "RANKxFACTOR, for example 2x1.5; the factor is from 0.001 to 1000000, and each rank has one",
     add_slow, true},
};

}  // namespace

std::uint64_t run_setting::stack_bytes_of(std::uint32_t ranks) const {
    constexpr std::uint64_t small = std::uint64_t{256} << 10;
    const std::uint64_t easy = base::knob_bytes(base::knob::stack);
    const std::uint64_t chosen = ranks > many_ranks ? std::min(easy, small) : easy;
    return (stack_bytes != 0 ? stack_bytes : chosen) * stack_factor;
}

run_setting take_run_setting(std::string_view spec, option_map& options) {
    run_setting setting;
    if (base::knob_text(base::knob::heap)) setting.heap_bytes = base::knob_bytes(base::knob::heap);
    if (base::knob_text(base::knob::stack)) {
        setting.stack_bytes = base::knob_bytes(base::knob::stack);
    }
    for (const run_option& option : run_options) {
        const auto place = options.find(option.key);
        if (place == options.end()) continue;
        std::string_view rest = place->second;
        while (true) {
            const std::string_view value =
                option.takes_several ? rest.substr(0, rest.find('+')) : rest;
            if (!option.set(setting, value)) {
                throw error(status::bad_argument,
                            fmt::format("machine \"{}\": {}={} is not {}", spec, option.key,
                                        place->second, option.form));
            }
            if (value.size() == rest.size()) break;
            rest.remove_prefix(value.size() + 1);
        }
        options.erase(place);
    }
    return setting;
}

std::vector<std::pair<std::string, std::string>> run_setting_forms() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const run_option& option : run_options) all.emplace_back(option.key, option.form);
    return all;
}

}  // namespace selion::machine::sim
