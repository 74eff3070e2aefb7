// SPDX-License-Identifier: Apache-2.0
#include "machine/call_record.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/units.hpp"
#include "machine/host/process_memory.hpp"
#include "selion/detail/script_place.hpp"
#include "selion/error.hpp"

namespace selion::machine {
namespace {

/// Where the main program lies in this process.
struct program_range {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
};

program_range find_program() {
    program_range range;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            auto& found = *static_cast<program_range*>(into);
            found.start = info->dlpi_addr;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type != PT_LOAD) continue;
                found.bytes = std::max<std::uint64_t>(found.bytes, part.p_vaddr + part.p_memsz);
            }
            return 1;  // the first object is the main program
        },
        &range);
    return range;
}

const program_range program = find_program();

void keep_place(call_record& record, std::string_view place) {
    place = end_of(place, sizeof record.script_place - 1);
    for (std::uint64_t& to : record.script_place) {
        std::uint64_t word = 0;
        if (!place.empty()) std::memcpy(&word, place.data(), std::min(place.size(), sizeof word));
        publish(to, word);
        if (place.size() < sizeof word) return;  // the zero that ends it is there
        place.remove_prefix(sizeof word);
    }
}

using place_text = std::array<char, 4096>;

/// Reads a text of a process up to its end. @return its length; 0: there is no room for it.
std::size_t read_text(std::int32_t process, std::uint64_t from, std::span<char> to) {
    constexpr std::uint64_t piece_bytes = 64;  // of this size and place, none crosses a page
    for (std::size_t done = 0; done < to.size();) {
        const std::size_t bytes = std::min(piece_bytes - from % piece_bytes, to.size() - done);
        const std::span piece = to.subspan(done, bytes);
        read_memory(process, from, std::as_writable_bytes(piece));
        const std::size_t length = ::strnlen(piece.data(), bytes);
        done += length;
        if (length < bytes) return done;
        from += bytes;
    }
    return 0;
}

/// "part.cpp:12" of a site in a library that a process has loaded; empty where it cannot be read.
/// Allocates nothing, because the process may be dying.
std::string_view library_place(std::int32_t process, std::uint64_t site, place_text& text) {
    // As large as what a source location refers to: two names, a line and a column.
    alignas(std::uint64_t) std::array<std::byte, 3 * sizeof(std::uint64_t)> fields{};
    try {
        read_memory(process, site, fields);
        const auto here = std::bit_cast<std::source_location>(fields.data());
        const auto file = reinterpret_cast<std::uint64_t>(here.file_name());
        const std::size_t length = read_text(process, file, text);
        const std::size_t room = text.size() - length;
        const auto line = fmt::format_to_n(text.data() + length, room, ":{}", here.line());
        return {text.data(), length == 0 || line.size > room ? 0 : length + line.size};
    } catch (const error&) {
        return {};
    }
}

}  // namespace

const std::uint64_t program_start = program.start;

std::string_view name_of(operation what) {
    switch (what) {
        case operation::none: return "nothing";
        case operation::barrier: return "barrier";
        case operation::sync: return "sync";
        case operation::arrive: return "arrive";
        case operation::wait: return "wait";
        case operation::broadcast: return "broadcast";
        case operation::all_reduce: return "all_reduce";
        case operation::reduce: return "reduce";
        case operation::reduce_scatter: return "reduce_scatter";
        case operation::scan: return "scan";
        case operation::exscan: return "exscan";
        case operation::gather: return "gather";
        case operation::all_gather: return "all_gather";
        case operation::scatter: return "scatter";
        case operation::exchange: return "exchange";
        case operation::gatherv: return "gatherv";
        case operation::all_gatherv: return "all_gatherv";
        case operation::scatterv: return "scatterv";
        case operation::exchangev: return "exchangev";
        case operation::split: return "split";
        case operation::subteam: return "subteam";
        case operation::allocate: return "allocate";
        case operation::deallocate: return "deallocate";
        case operation::wait_signal: return "wait_until";
        case operation::wait_counter: return "counter::wait";
        case operation::wait_future: return "future::wait";
        case operation::wait_worker: return "a wait for workers";
        case operation::serve_calls: return "worker_pool::serve";
        case operation::send: return "send";
        case operation::completions: return "its completion handlers";
        case operation::coherent_access: return "an access to coherent memory";
        case operation::end_of_run: return "the end of run";
        case operation::survivors: return "survivors";
        case operation::put: return "put";
        case operation::get: return "get";
        case operation::atomic: return "an atomic";
        case operation::put_signal: return "put_signal";
        case operation::store: return "store";
        case operation::quiet: return "quiet";
        case operation::test_signal: return "test";
        case operation::wait_any_signal: return "wait_any";
    }
    return "an unknown call";
}

std::string_view end_of(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    text.remove_prefix(text.size() - most);
    constexpr unsigned goes_on = 0x80;  // with the character before, in UTF-8
    while (!text.empty() && (static_cast<unsigned>(text.front()) & 0xC0u) == goes_on) {
        text.remove_prefix(1);
    }
    return text;
}

bool is_in_program(std::uint64_t encoded_site) { return encoded_site < program.bytes; }

std::uint64_t encode_place(const void* place) {
    const auto address = reinterpret_cast<std::uint64_t>(place);
    if (is_in_program(address - program.start)) return address - program.start;
    Dl_info found{};
    if (dladdr(place, &found) == 0) return 0;
    return address - reinterpret_cast<std::uint64_t>(found.dli_fbase);
}

std::string script_place(const call_record& record) {
    script_text words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = look_at(record.script_place[i]);
    const auto* const text = reinterpret_cast<const char*>(words.data());
    return {text, ::strnlen(text, sizeof words)};
}

std::source_location decode_site(std::uint64_t encoded) {
    if (encoded == 0 || !is_in_program(encoded)) return {};
    return std::bit_cast<std::source_location>(encoded + program.start);
}

std::string site_text(std::uint64_t encoded) {
    if (encoded == 0 || !is_in_program(encoded)) return "an unknown place";
    const std::source_location site = decode_site(encoded);
    return fmt::format("{}:{}", site.file_name(), site.line());
}

std::string site_text(const call_record& record) {
    const std::uint64_t seen = look_at(record.site);
    if (seen == 0) return site_text(0);
    const std::uint64_t encoded = seen - look_at(record.program_start);
    if (is_in_program(encoded)) return site_text(encoded);
    if (static_cast<operation>(look_at(record.what)) == operation::end_of_run) return site_text(0);
    const std::string of_script = script_place(record);
    if (!of_script.empty()) return of_script;
    place_text text;
    const std::string_view place = library_place(look_at(record.process), seen, text);
    return place.empty() ? site_text(0) : std::string(place);
}

void keep_site(call_record& record) {
    const bool is_known = is_in_program(look_at(record.site) - look_at(record.program_start));
    if (is_known || look_at(record.script_place[0]) != 0) return;
    place_text text;
    keep_place(record, library_place(look_at(record.process), look_at(record.site), text));
}

std::string noted_call_text(const call_record& record) {
    const auto what = static_cast<operation>(look_at(record.what));
    const std::uint32_t team_size = look_at(record.team_size);
    std::string number;
    if (has_shown_number(what) && team_size != no_team) {
        number = team_size == 0 ? fmt::format(" #{}", look_at(record.instance))
                                : fmt::format(" of a team of {}", team_size);
    }
    const std::string site = site_text(record);
    // A script's function has returned to the library, at no place of the script.
    const bool has_place = what != operation::end_of_run || site != site_text(std::uint64_t{0});
    return fmt::format("{}{}{}{}", name_of(what), number, has_place ? " at " : "",
                       has_place ? site : "");
}

std::string returned_text(const call_record& record) {
    const std::int32_t status = look_at(record.return_status);
    if (status == 0) return "its function has returned";
    return fmt::format(
        "its function has returned {} (which ends no other rank: an exception or "
        "std::exit({}) ends the job)",
        status, status);
}

std::string wait_text(const call_record& record) {
    std::string text = "in " + noted_call_text(record);
    const auto what = static_cast<operation>(look_at(record.what));
    const auto under_way = static_cast<operation>(look_at(record.under_way));
    if (what == operation::wait_future && under_way != operation::none) {
        text += fmt::format(" (a started {} is under way)", name_of(under_way));
    }
    return text;
}

std::string last_call_text(const call_record& record) {
    const auto what = static_cast<operation>(look_at(record.what));
    const bool is_inside = look_at(record.entries) % 2 == 1;
    const bool is_in_handler = is_inside && what == operation::completions;
    if (look_at(record.has_finished) != 0 && !is_in_handler) return returned_text(record);
    if (what == operation::none) return "before its first collective call or wait";
    return is_inside ? wait_text(record) : "in its own code, after " + noted_call_text(record);
}

std::string crash_place_text(const call_record& record) {
    const auto place = static_cast<fault_place>(look_at(record.crash_place));
    if (place == fault_place::none) return {};
    if (place == fault_place::no_address) {
        return " at an address that no program can have (a garbage pointer, an index far out of "
               "its allocation) or that is misaligned";
    }
    const std::string address = fmt::format(" at address {:#x}", look_at(record.crash_address));
    if (place == fault_place::address) return address;
    const std::uint64_t stack_bytes = std::uint64_t{look_at(record.stack_kib)} << 10;
    if (stack_bytes == 0)
        return address + ", where its stack has ended (`ulimit -s` sets its size)";
    return fmt::format("{}, where its stack of {} has ended (SELION_STACK sets its size)", address,
                       base::bytes_text(stack_bytes));
}

}  // namespace selion::machine

namespace selion::detail {

void note_script_place(std::string_view place) {
    rank_context& context = *current_context;
    const bool is_own = context.ranks != 0 && !context.is_foreign_thread &&
                        context.call != nullptr && !context.own.in_handler;
    if (!is_own || context.call->entries % 2 == 1) return;  // the outermost call gives the name
    machine::keep_place(*context.call, place);
}

std::string noted_script_place() {
    const rank_context& context = *current_context;
    return context.call == nullptr ? std::string() : machine::script_place(*context.call);
}

}  // namespace selion::detail
