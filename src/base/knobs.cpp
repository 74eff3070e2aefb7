// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/nearest_name.hpp"
#include "base/units.hpp"
#include "selion/error.hpp"

namespace selion::base {
namespace {

constexpr std::array<knob_entry, 27> table{{
    {knob::bind, "SELION_BIND", "auto",
     "auto, on, off: bind threads to cores; auto binds when the job fills all usable cores"},
    {knob::cache_block, "SELION_CACHE_BLOCK", "the program's choice",
     "bytes of the blocks of all coherent memory, a power of two from 8 to 65536"},
    {knob::cache_trace, "SELION_CACHE_TRACE", "off",
     "folder: coherent memory runs its protocol everywhere and writes all accesses there"},
    {knob::check_calls, "SELION_CHECK_CALLS", "off",
     "on, off: compare what the ranks call in each collective; where they disagree the job ends "
     "and names both calls"},
    {knob::crash_report, "SELION_CRASH_REPORT", "on",
     "on, off: a rank that dies of a signal says which rank it was and what it was doing"},
    {knob::fabric_batches, "SELION_FABRIC_BATCHES", "on",
     "on, off: machine fabric sends small operations that follow each other together; off: each by "
     "itself, at once"},
    {knob::fabric_interface, "SELION_FABRIC_INTERFACE", "by provider",
     "interface that machine fabric uses, such as eth0 or ib0"},
    {knob::fabric_provider, "SELION_FABRIC_PROVIDER", "the best that is there",
     "libfabric provider that machine fabric uses, such as tcp;ofi_rxm or verbs;ofi_rxm"},
    {knob::fabric_timeout, "SELION_FABRIC_TIMEOUT", "10",
     "seconds without a sign of life after which machine fabric takes another host for dead; 0: "
     "none"},
    {knob::hang_action, "SELION_HANG_ACTION", "report",
     "report, abort: what follows a wait longer than SELION_HANG_TIMEOUT"},
    {knob::hang_timeout, "SELION_HANG_TIMEOUT", "60",
     "seconds that a rank may wait before the job says who is absent; 0 switches that off"},
    {knob::heap, "SELION_HEAP", "all memory of the host",
     "bytes (K, M, G, T) of symmetric memory that each rank may grow to, from 1M to 1T"},
    {knob::joined_threads, "SELION_JOINED_THREADS", "64",
     "threads that may join ranks by rank_scope at a time, in each process"},
    {knob::machine, "SELION_MACHINE", "fabric under a launcher, else threads",
     "the machine: threads:N, threads:N@C, processes:N, processes:PxT, fabric, fabric:xT, "
     "sim:NAME"},
    {knob::membarrier, "SELION_MEMBARRIER", "auto",
     "auto, off: let sleepers pay for ordering (membarrier); off: every signal has a full fence"},
    {knob::message_memory, "SELION_MESSAGE_MEMORY", "8M",
     "bytes (K, M, G, T) for data of messages under way, of each thread that runs ranks; from 64K "
     "to 1T"},
    {knob::meters, "SELION_METERS", "off",
     "file: write counters and timers of all ranks there as JSON lines; 1: record only"},
    {knob::prefix, "SELION_PREFIX", "off",
     "on, off: put the rank before each line that a process prints"},
    {knob::process_memory, "SELION_PROCESS_MEMORY", "auto",
     "auto, off: copy long blocks straight from other processes' memory where that is allowed"},
    {knob::rank_death, "SELION_RANK_DEATH", "end",
     "end, report: on machine fabric the death of a rank ends the job, or is an error at those who "
     "want something of it"},
    {knob::spin, "SELION_SPIN", "by machine",
     "microseconds that a waiting rank spins before it yields and then sleeps"},
    {knob::stack, "SELION_STACK", "1M", "bytes (K, M, G) of a fiber's stack, at least 64K"},
    {knob::thread_level, "SELION_THREAD_LEVEL", "the program's choice",
     "single, serialized, multiple: what threads that a rank starts may do"},
    {knob::time, "SELION_TIME", "off",
     "file: each job adds a JSON line there that tells how long its ranks have run"},
    {knob::trace, "SELION_TRACE", "off",
     "file: write a trace of all ranks there in the Chrome and Perfetto format"},
    {knob::tuning, "SELION_TUNING", "the user's own table",
     "file: table of measured collectives that `selion tune` has written; off: use none"},
    {knob::verbose, "SELION_VERBOSE", "off", "on, off: say what was chosen, and why"},
}};

/// Names that the command line, the build and a job's own processes use; those that end in `_` are
/// what such names begin with.
// The last four are those of a site's modules, and of CMake.
constexpr std::array<std::string_view, 10> reserved{
    "SELION_HOSTS", "SELION_JOB_", "SELION_STUDIES", "SELION_STUDY_DATA", "SELION_BIN",
    "SELION_TEST_", "SELION_ROOT", "SELION_HOME",    "SELION_DIR",        "SELION_VERSION"};

const knob_entry& entry_of(knob which) { return table[static_cast<std::size_t>(which)]; }

/// Of letters that are English: no word of a knob has others.
std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return lower;
}

static_assert(std::ranges::is_sorted(table, {}, &knob_entry::name));
static_assert([] {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table[i].which) != i) return false;
    }
    return true;
}());

}  // namespace

void refuse_knob(knob which, std::string_view value, std::string_view legal) {
    throw error(status::bad_argument, fmt::format("{}={} is not understood; it takes {}",
                                                  entry_of(which).name, value, legal));
}

std::span<const knob_entry> knob_table() { return table; }

std::optional<std::string> knob_text(knob which) {
    const char* value = std::getenv(entry_of(which).name.data());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::optional<bool> switch_value(std::string_view text) {
    constexpr std::array<std::string_view, 4> on{"on", "1", "yes", "true"};
    constexpr std::array<std::string_view, 4> off{"off", "0", "no", "false"};
    const std::string word = in_lower_case(text);
    if (std::ranges::find(on, word) != on.end()) return true;
    if (std::ranges::find(off, word) != off.end()) return false;
    return std::nullopt;
}

bool is_switch_word(std::string_view value) { return switch_value(value).has_value(); }

bool knob_is_on(knob which) {
    const std::string value = knob_text(which).value_or(std::string(entry_of(which).default_value));
    return switch_value(value).value_or(true);
}

void expect_switch(knob which) {
    const std::string_view standard = entry_of(which).default_value;
    const std::string value = knob_text(which).value_or(std::string(standard));
    if (in_lower_case(value) == standard || is_switch_word(value)) return;
    refuse_knob(which, value, standard == "auto" ? "auto or off" : "on or off");
}

std::size_t knob_choice(knob which, std::span<const std::string_view> words) {
    const std::string value = knob_text(which).value_or(std::string(entry_of(which).default_value));
    auto found = std::ranges::find(words, in_lower_case(value));
    if (const auto is_on = switch_value(value); is_on && found == words.end()) {
        found = std::ranges::find(words, *is_on ? "on" : "off");
    }
    if (found == words.end()) refuse_knob(which, value, fmt::format("{}", fmt::join(words, ", ")));
    return static_cast<std::size_t>(found - words.begin());
}

std::uint64_t knob_bytes(knob which, std::uint64_t least) {
    const std::string value = knob_text(which).value_or(std::string(entry_of(which).default_value));
    const std::optional<std::uint64_t> bytes = parse_bytes(value);
    if (!bytes || *bytes == 0) refuse_knob(which, value, "a size such as 512M or 2G");
    if (*bytes < least) refuse_knob(which, value, fmt::format("{} or more", bytes_text(least)));
    return *bytes;
}

std::int64_t knob_nanoseconds(knob which) {
    constexpr double most_seconds = 9e9;  // some 285 years
    return static_cast<std::int64_t>(std::min(knob_seconds(which), most_seconds) * 1e9);
}

double knob_seconds(knob which) {
    const std::string value = knob_text(which).value_or(std::string(entry_of(which).default_value));
    const std::optional<double> seconds = parse_seconds(value);
    if (!seconds) refuse_knob(which, value, "seconds, for example 0.5 or 60");
    return *seconds;
}

std::uint64_t knob_whole(knob which) {
    const std::string value = knob_text(which).value_or(std::string(entry_of(which).default_value));
    const std::optional<std::uint64_t> number = parse_whole(value);
    if (!number) refuse_knob(which, value, "a whole number");
    return *number;
}

bool is_reserved_name(std::string_view name) {
    return std::ranges::any_of(reserved, [&](std::string_view one) {
        return one.ends_with('_') ? name.starts_with(one) : name == one;
    });
}

std::vector<std::string> unknown_knob_warnings() {
    std::array<std::string_view, table.size()> names;
    std::ranges::transform(table, names.begin(), &knob_entry::name);
    std::vector<std::string> warnings;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.starts_with("SELION_") || is_reserved_name(name)) continue;
        if (std::ranges::find(names, name) != names.end()) continue;
        const std::string_view near = nearest_name(name, names);
        warnings.push_back(near.empty()
                               ? fmt::format("warning: {} is not a variable of Selion", name)
                               : fmt::format("warning: {} is not a variable of Selion; did you "
                                             "mean {}?",
                                             name, near));
    }
    return warnings;
}

}  // namespace selion::base
