// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selion::base {

/// Every SELION_* variable. Their names, defaults and help lines stand in one table (knobs.cpp).
enum class knob : std::uint8_t {
    bind,
    cache_block,
    cache_trace,
    check_calls,
    crash_report,
    fabric_batches,
    fabric_interface,
    fabric_provider,
    fabric_timeout,
    hang_action,
    hang_timeout,
    heap,
    joined_threads,
    machine,
    membarrier,
    message_memory,
    meters,
    prefix,
    process_memory,
    rank_death,
    spin,
    stack,
    thread_level,
    time,
    trace,
    tuning,
    verbose,
};

struct knob_entry {
    knob which;
    std::string_view name;
    std::string_view default_value;
    std::string_view help;
};

std::span<const knob_entry> knob_table();

/// Value in the environment; nothing when unset or empty.
std::optional<std::string> knob_text(knob which);

/// "on", "1", "yes", "true" and "off", "0", "no", "false", in upper or lower case; nothing for what
/// is none of them.
std::optional<bool> switch_value(std::string_view text);
/// Whether it is one of these: no knob takes them for the name of a file.
bool is_switch_word(std::string_view value);

/// What is not switched off: for knobs that take a file, any name.
bool knob_is_on(knob which);

/// Throws `error` (bad_argument) unless a knob that is on or off is set to one of these.
void expect_switch(knob which);

/// Throws `error` (bad_argument) for the first variable whose value makes no sense, whether this
/// job would look at it or not: a mistake is told on every machine.
void expect_legal_knobs();

/// Throws `error` (bad_argument): the value, and what is legal.
[[noreturn]] void refuse_knob(knob which, std::string_view value, std::string_view legal);

/// One of `words`, in upper or lower case; other words for a switch where "on" or "off" is one.
/// Throws `error` (bad_argument) with the legal words otherwise.
/// @return the index of the word.
std::size_t knob_choice(knob which, std::span<const std::string_view> words);

/// Bytes or seconds of a knob, or its default. Throw `error` (bad_argument) when malformed.
/// @param least fewer than these are not legal either.
std::uint64_t knob_bytes(knob which, std::uint64_t least = 1);
double knob_seconds(knob which);
/// The same in nanoseconds; what is longer than any job counts as 9e9 s.
std::int64_t knob_nanoseconds(knob which);
std::uint64_t knob_whole(knob which);

/// One sentence for each SELION_* variable in the environment that nobody reads.
std::vector<std::string> unknown_knob_warnings();

/// Variables with this prefix are not read by the library but belong to the project's programs.
bool is_reserved_name(std::string_view name);

}  // namespace selion::base
