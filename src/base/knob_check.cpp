// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "base/units.hpp"

namespace selion::base {
namespace {

constexpr std::uint64_t smallest_heap = 1024 * 1024;
constexpr std::uint64_t largest_heap = std::uint64_t{1} << 40;  ///< as far as an address reaches
constexpr std::uint64_t smallest_stack = 64 * 1024;
constexpr std::uint64_t smallest_message_memory = 64 * 1024;

void expect_word(knob which, const std::vector<std::string_view>& words) {
    static_cast<void>(knob_choice(which, words));
}

void expect_block(knob which) {
    const auto text = knob_text(which);
    if (!text) return;
    const std::uint64_t bytes = parse_bytes(*text).value_or(0);
    if (!std::has_single_bit(bytes) || bytes < 8 || bytes > 65536) {
        refuse_knob(which, *text, "a power of two from 8 to 65536");
    }
}

/// There is none that is meant by itself. @param legal what it is, or off.
void expect_place(knob which, std::string_view legal) {
    const auto text = knob_text(which);
    if (text && switch_value(*text).value_or(false)) refuse_knob(which, *text, legal);
}

void expect_memory(knob which, std::uint64_t smallest) {
    const auto text = knob_text(which);
    if (text && knob_bytes(which, smallest) > largest_heap) {
        refuse_knob(which, *text, fmt::format("{} or less", bytes_text(largest_heap)));
    }
}

void expect_legal(knob which) {
    switch (which) {
        case knob::bind: return expect_word(which, {"auto", "on", "off"});
        case knob::cache_block: return expect_block(which);
        case knob::cache_trace: return expect_place(which, "a folder, or off");
        case knob::hang_action: return expect_word(which, {"report", "abort"});
        case knob::heap: return expect_memory(which, smallest_heap);
        case knob::message_memory: return expect_memory(which, smallest_message_memory);
        case knob::rank_death: return expect_word(which, {"end", "report"});
        case knob::stack: return static_cast<void>(knob_bytes(which, smallest_stack));
        case knob::thread_level:
            if (knob_text(which)) expect_word(which, {"single", "serialized", "multiple"});
            return;
        case knob::time: return expect_place(which, "a file, or off");
        case knob::check_calls:
        case knob::crash_report:
        case knob::fabric_batches:
        case knob::membarrier:
        case knob::prefix:
        case knob::process_memory:
        case knob::verbose: return expect_switch(which);
        case knob::fabric_timeout:
        case knob::hang_timeout: return static_cast<void>(knob_seconds(which));
        case knob::joined_threads: return static_cast<void>(knob_whole(which));
        case knob::spin:
            if (knob_text(which)) static_cast<void>(knob_whole(which));
            return;
        // What is no number and no word is looked at by those who use it.
        case knob::fabric_interface:
        case knob::fabric_provider:
        case knob::machine:
        case knob::meters:
        case knob::trace:
        case knob::tuning: return;
    }
}

}  // namespace

void expect_legal_knobs() {
    for (const knob_entry& entry : knob_table()) expect_legal(entry.which);
}

}  // namespace selion::base
