// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_units.hpp"

#include <fmt/format.h>

#include <array>

namespace selion::machine::sim {
namespace {

constexpr double ps_per_second = 1e12;

/// A unit in its base: picoseconds, bytes, hertz; for speeds, what moves in a second.
struct unit {
    std::string_view name;
    double scale;
};

constexpr std::array times{unit{"ps", 1},         unit{"ns", 1e3}, unit{"us", 1e6},
                           unit{"ms", 1e9},       unit{"s", 1e12}, unit{"cycles", 0},
                           unit{"half_cycles", 0}};
constexpr std::array per_bytes{unit{"ns_per_byte", 1e3},   unit{"us_per_byte", 1e6},
                               unit{"cycles_per_byte", 0}, unit{"half_cycles_per_byte", 0},
                               unit{"mb_per_s", 1e6},      unit{"mib_per_s", 0x1p20},
                               unit{"gb_per_s", 1e9}};
constexpr std::array eaches{unit{"ps", 1},     unit{"ns", 1e3},        unit{"us", 1e6},
                            unit{"cycles", 0}, unit{"half_cycles", 0}, unit{"million_per_s", 1e6}};
constexpr std::array frequencies{unit{"hz", 1}, unit{"mhz", 1e6}, unit{"ghz", 1e9}};
constexpr std::array sizes{unit{"bytes", 1}, unit{"kib", 0x1p10}, unit{"mib", 0x1p20},
                           unit{"gib", 0x1p30}};

template <std::size_t N>
constexpr std::array<std::string_view, N> names_of(const std::array<unit, N>& units) {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) names[i] = units[i].name;
    return names;
}

constexpr auto time_names = names_of(times);
constexpr auto per_byte_names = names_of(per_bytes);
constexpr auto each_names = names_of(eaches);
constexpr auto frequency_names = names_of(frequencies);
constexpr auto size_names = names_of(sizes);

std::span<const unit> all_of(quantity kind) {
    switch (kind) {
        case quantity::time: return times;
        case quantity::per_byte: return per_bytes;
        case quantity::each: return eaches;
        case quantity::frequency: return frequencies;
        case quantity::bytes: return sizes;
        default: return {};
    }
}

}  // namespace

std::span<const std::string_view> units_of(quantity kind) {
    switch (kind) {
        case quantity::time: return time_names;
        case quantity::per_byte: return per_byte_names;
        case quantity::each: return each_names;
        case quantity::frequency: return frequency_names;
        case quantity::bytes: return size_names;
        default: return {};
    }
}

std::string_view placeholder_of(quantity kind) {
    switch (kind) {
        case quantity::time: return "_TIME";
        case quantity::per_byte: return "_PER_BYTE";
        case quantity::each: return "_EACH";
        case quantity::frequency: return "_FREQUENCY";
        case quantity::bytes: return "_SIZE";
        default: return "";
    }
}

measured_key split_by_unit(std::string_view key) {
    measured_key best{quantity::factor, key, {}};
    for (const quantity kind : {quantity::per_byte, quantity::time, quantity::bytes}) {
        for (const std::string_view name : units_of(kind)) {
            const bool ends = key.size() > name.size() + 1 && key.ends_with(name) &&
                              key[key.size() - name.size() - 1] == '_';
            if (ends && name.size() > best.unit.size()) {
                best = {kind, key.substr(0, key.size() - name.size() - 1), name};
            }
        }
    }
    return best;
}

double scale_of(quantity kind, std::string_view name) {
    for (const unit& each : all_of(kind)) {
        if (each.name == name) return each.scale;
    }
    return 1;
}

bool is_speed(std::string_view unit) { return unit.ends_with("_per_s"); }

std::string count_text(std::uint64_t count, std::string_view what) {
    const bool hisses = what.ends_with('s') || what.ends_with('x');
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : hisses ? "es" : "s");
}

double in_ticks(quantity kind, double amount, std::string_view unit, const time_base& base) {
    // All factors first, one division last: what is whole stays whole.
    const auto per_tick = static_cast<double>(base.tick.denominator);
    const auto ps = static_cast<double>(base.tick.numerator_ps);
    if (time_base::counts_cycles(unit)) {
        const double cycles = unit.starts_with("half") ? amount / 2 : amount;
        return cycles * ps_per_second * per_tick / (base.frequency_hz * ps);
    }
    const double scale = scale_of(kind, unit);
    if (is_speed(unit)) return ps_per_second * per_tick / (amount * scale * ps);
    return amount * scale * per_tick / ps;
}

}  // namespace selion::machine::sim
