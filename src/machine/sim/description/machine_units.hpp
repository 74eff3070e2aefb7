// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/sim/engine/virtual_time.hpp"

/// What the constants of a machine file measure, and their units.
namespace selion::machine::sim {

enum class quantity {
    time,       ///< "latency_us"
    per_byte,   ///< "port_mb_per_s", "origin_ns_per_byte"
    each,       ///< one operation of many: "flop_cycles", "int_op_million_per_s"
    frequency,  ///< "frequency_mhz"
    bytes,      ///< "packet_bytes", "each_rank_mib"
    count,      ///< "rows": no unit
    factor,     ///< "burst": no unit
    truth,      ///< "broadcast": true or false
    word,       ///< "kind"
    list,       ///< "sides": whole numbers
};

/// Legal units of a quantity; none for those that have no unit.
std::span<const std::string_view> units_of(quantity kind);

/// "UNIT is one of ps, ns, ..." as sentences say it: "_TIME", "_PER_BYTE"; empty without a unit.
std::string_view placeholder_of(quantity kind);

/// A key taken apart: "latency_us" is "latency" in "us".
struct measured_key {
    quantity kind;
    std::string_view name;
    std::string_view unit;
};

/// Takes a key apart by its ending alone. A key without a known unit is a factor.
measured_key split_by_unit(std::string_view key);

/// What cycles are, and what a tick is.
struct time_base {
    tick_length tick;
    double frequency_hz = 0;  ///< 0: not known

    static bool counts_cycles(std::string_view unit) { return unit.find("cycles") != unit.npos; }
};

/// How many ticks an amount of a time, or of a time for each byte or operation, is.
/// @pre `unit` is one of the quantity's; `base.frequency_hz` is known if it counts cycles;
/// `amount` is greater than 0 if the unit is a speed.
double in_ticks(quantity kind, double amount, std::string_view unit, const time_base& base);

/// How many hertz, or bytes, one unit is.
double scale_of(quantity kind, std::string_view unit);

/// Whether larger means faster: "mb_per_s".
bool is_speed(std::string_view unit);

/// "1 rank", "16 ranks", "2 processes".
std::string count_text(std::uint64_t count, std::string_view what);

}  // namespace selion::machine::sim
