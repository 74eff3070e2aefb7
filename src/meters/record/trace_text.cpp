// SPDX-License-Identifier: Apache-2.0
#include "meters/record/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace selion::meters {
namespace {

constexpr int format_version = 1;
constexpr int meters_version = 1;
/// Beyond the numbers of all tracks: viewers take a process without threads for one thread.
constexpr int links_process = 5'000'000;
/// More than so many counters make no picture; the summary shows all links.
constexpr std::size_t most_link_counters = 256;

std::uint64_t track_of(std::uint32_t rank) { return 2 * std::uint64_t{rank} + 1; }
std::uint64_t arrivals_of(std::uint32_t rank) { return 2 * std::uint64_t{rank} + 2; }
/// Behind those of all ranks.
std::uint64_t handlers_of(std::uint32_t rank) { return (1 << 21) + arrivals_of(rank); }

std::uint64_t track_of(std::uint32_t rank, const occurrence& what) {
    if (what.is_handlers) return handlers_of(rank);
    return what.kind == slice_kind::arrival ? arrivals_of(rank) : track_of(rank);
}

/// A track beside the one of its rank.
std::string second_track_name(std::uint64_t track, std::uint32_t rank, std::string_view what) {
    return fmt::format(
        R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_name",)"
        R"("args":{{"name":"rank {1} {2}"}}}},)"
        "\n"
        R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{3}}}}},)"
        "\n",
        track, rank, what, arrivals_of(rank));
}

/// Appends `format(parts...)`.
template <class... Parts>
void put(std::string& to, fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(to), format, std::forward<Parts>(parts)...);
}

/// Bytes of the character with which a text begins; 0 if that is none of UTF-8, which JSON is in.
std::size_t bytes_of_character(std::string_view text) {
    const auto byte = [&](std::size_t at) -> std::uint32_t {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return 0;
    }
    // Longer than needed, half of a pair of UTF-16, or beyond the last character.
    const std::uint32_t first_two = lead << 8 | byte(1);
    const bool is_overlong = bytes == 3   ? first_two < 0xe0a0
                             : bytes == 4 ? first_two < 0xf090
                                          : false;
    const bool is_half = first_two >= 0xeda0 && first_two <= 0xedbf;
    return is_overlong || is_half || first_two > 0xf48f ? 0 : bytes;
}

/// Names may be any bytes; those that are no text become the character that stands for such.
void put_escaped(std::string& to, std::string_view text) {
    while (!text.empty()) {
        const char c = text.front();
        const std::size_t bytes = bytes_of_character(text);
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (bytes == 0) {
            to += "\xef\xbf\xbd";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            put(to, "\\u{:04x}", static_cast<unsigned>(c));
        } else {
            to += text.substr(0, bytes);
        }
        text.remove_prefix(std::max(bytes, std::size_t{1}));
    }
}

void put_quoted(std::string& to, std::string_view text) {
    to += '"';
    put_escaped(to, text);
    to += '"';
}

std::string_view time_of(const job_description& job) { return job.is_virtual ? "virtual" : "real"; }

/// The format counts microseconds; whole picoseconds keep all their digits.
void put_microseconds(std::string& to, std::int64_t ps) {
    put(to, "{}", ps / 1'000'000);
    if (ps % 1'000'000 == 0) return;
    put(to, ".{:06}", ps % 1'000'000);
    to.erase(to.find_last_not_of('0') + 1);
}

/// The bytes of what moves some, the other rank, the place in the program.
void put_arguments(std::string& to, const occurrence& what) {
    const bool moves = what.kind == slice_kind::operation || what.kind == slice_kind::message ||
                       what.kind == slice_kind::arrival;
    const char* separator = "";
    if (moves || what.bytes != 0) {
        put(to, R"("bytes":{})", what.bytes);
        separator = ",";
    }
    if (what.peer != nobody) {
        put(to, R"({}"{}":{})", separator, what.kind == slice_kind::arrival ? "from" : "to",
            what.peer);
        separator = ",";
    }
    if (what.file == nullptr) return;
    put(to, R"({}"at":")", separator);
    put_escaped(to, what.file);
    put(to, R"(:{}")", what.line);
}

void put_count(std::string& to, std::uint32_t rank, const occurrence& what) {
    put(to, R"({{"ph":"C","pid":1,"tid":{},"name":")", track_of(rank));
    put_escaped(to, what.name);
    put(to, " (rank {})\",\"ts\":", rank);
    put_microseconds(to, what.start_ps);
    put(to,
        R"(,"args":{{"total":{}}}}},)"
        "\n",
        static_cast<std::int64_t>(what.bytes));
}

/// Where an arrow begins ("s") or ends ("f").
void put_arrow(std::string& to, char phase, std::uint64_t track, flow_id which,
               std::int64_t at_ps) {
    put(to, R"({{"ph":"{}",{}"pid":1,"tid":{},"cat":"message","name":"message","id":"{:#x}","ts":)",
        phase, phase == 'f' ? R"("bp":"e",)" : "", track, which);
    put_microseconds(to, at_ps);
    to += "},\n";
}

/// A wait that has lasted was ended by something that began while it lasted.
bool ends_late(const occurrence& what) {
    return what.flow_in != 0 && what.kind == slice_kind::wait && what.end_ps > what.start_ps;
}

void put_slice(std::string& to, std::uint32_t rank, const occurrence& what) {
    const std::uint64_t track = track_of(rank, what);
    put(to, R"({{"ph":"X","pid":1,"tid":{},"cat":"{}","name":)", track, category_of(what.kind));
    put_quoted(to, what.name);
    to += R"(,"ts":)";
    put_microseconds(to, what.start_ps);
    to += R"(,"dur":)";
    put_microseconds(to, what.end_ps - what.start_ps);
    to += R"(,"args":{)";
    put_arguments(to, what);
    to += "}},\n";
    if (what.flow_in != 0 && !ends_late(what)) {
        put_arrow(to, 'f', track, what.flow_in, what.start_ps);
    }
    if (what.flow_out != 0) put_arrow(to, 's', track, what.flow_out, what.start_ps);
}

/// What is written together, and its place among what happens at the same time: arrivals, then the
/// ends of waits, then what begins, of which the longest comes first because it encloses the
/// others. Nothing lies within a wait, so waits come last, and the shorter one first.
struct piece {
    enum class kind : std::uint8_t { arrival, end_of_wait, slice, wait };
    std::int64_t at_ps;
    kind what;
    const occurrence* from;

    friend bool operator<(const piece& a, const piece& b) {
        if (a.at_ps != b.at_ps) return a.at_ps < b.at_ps;
        if (a.what != b.what) return a.what < b.what;
        return a.what == kind::slice ? a.from->end_ps > b.from->end_ps
                                     : a.from->end_ps < b.from->end_ps;
    }
};

piece::kind kind_of(const occurrence& what) {
    switch (what.kind) {
        case slice_kind::arrival: return piece::kind::arrival;
        case slice_kind::wait: return piece::kind::wait;
        default: return piece::kind::slice;
    }
}

std::vector<piece> pieces_of(std::span<const occurrence> events) {
    std::vector<piece> pieces;
    pieces.reserve(events.size());
    for (const occurrence& event : events) {
        pieces.push_back({event.start_ps, kind_of(event), &event});
        if (ends_late(event)) pieces.push_back({event.end_ps, piece::kind::end_of_wait, &event});
    }
    std::ranges::stable_sort(pieces, std::less<>());
    return pieces;
}

}  // namespace

std::string_view category_of(slice_kind kind) {
    switch (kind) {
        case slice_kind::timer: return "timer";
        case slice_kind::operation: return "operation";
        case slice_kind::collective: return "collective";
        case slice_kind::wait: return "wait";
        case slice_kind::message: return "message";
        case slice_kind::arrival: return "arrival";
        case slice_kind::count: break;
    }
    return "count";
}

std::string quoted(std::string_view text) {
    std::string out;
    put_quoted(out, text);
    return out;
}

std::string trace_head(const job_description& what) {
    std::string text = fmt::format(
        "[\n"
        R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}},)"
        "\n"
        R"({{"ph":"M","pid":1,"name":"selion_trace","args":{{"format":{},"selion":{},)"
        R"("machine":{},"ranks":{},"time":"{}")",
        quoted(fmt::format("{} ranks on {}", what.ranks, what.machine)), format_version,
        quoted(what.version), quoted(what.machine), what.ranks, time_of(what));
    if (!what.is_virtual) {
        text +=
            fmt::format(R"(,"event_cost_ns":{})", static_cast<double>(what.event_cost_ps) / 1000);
    }
    return text + "}},\n";
}

std::string meters_head(const job_description& what) {
    return fmt::format(
        R"({{"file":"meters","format":{},"selion":{},"machine":{},"ranks":{},"time":"{}"}})"
        "\n",
        meters_version, quoted(what.version), quoted(what.machine), what.ranks, time_of(what));
}

std::string_view trace_tail() {
    return R"({"ph":"M","pid":1,"name":"end_of_trace","args":{}}])"
           "\n";
}

std::string track_name(std::uint32_t rank) {
    return fmt::format(
        R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_name","args":{{"name":"rank {1}"}}}},)"
        "\n"
        R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}},)"
        "\n",
        track_of(rank), rank);
}

std::string arrivals_track_name(std::uint32_t rank) {
    return second_track_name(arrivals_of(rank), rank, "arrivals");
}

std::string handlers_track_name(std::uint32_t rank) {
    return second_track_name(handlers_of(rank), rank, "handlers");
}

std::string end_of_rank(std::uint32_t rank, std::uint64_t events, std::uint64_t dropped) {
    return fmt::format(
        R"({{"ph":"M","pid":1,"tid":{},"name":"end_of_rank","args":{{"events":{},"dropped":{}}}}},)"
        "\n",
        track_of(rank), events, dropped);
}

std::string event_lines(std::uint32_t rank, std::span<const occurrence> events) {
    std::string text;
    for (const piece& each : pieces_of(events)) {
        const occurrence& event = *each.from;
        if (each.what == piece::kind::end_of_wait) {
            put_arrow(text, 'f', track_of(rank), event.flow_in, event.end_ps);
        } else if (event.kind == slice_kind::count) {
            put_count(text, rank, event);
        } else {
            put_slice(text, rank, event);
        }
    }
    return text;
}

std::string link_events(const network_use& what) {
    std::string text;
    put(text,
        R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"links"}}}},)"
        "\n",
        links_process);
    std::size_t counters = 0;
    for (const link_use& link : what.links) {
        const std::string name = quoted(link.name);
        put(text,
            R"({{"ph":"M","pid":{},"name":"link","args":{{"link":{},"messages":{},"bytes":{},)"
            R"("busy_ps":{},"wait_ps":{},"run_ps":{}}}}},)"
            "\n",
            links_process, name, link.messages, link.bytes, link.busy_ps, link.wait_ps,
            what.run_ps);
        if (link.messages == 0 || what.run_ps <= 0 || ++counters > most_link_counters) continue;
        const double percent =
            100 * static_cast<double>(link.busy_ps) / static_cast<double>(what.run_ps);
        for (const std::int64_t at_ps : {std::int64_t{0}, what.run_ps}) {
            put(text, R"({{"ph":"C","pid":{},"name":{},"ts":)", links_process, name);
            put_microseconds(text, at_ps);
            put(text,
                R"(,"args":{{"mean use in percent":{:.3f}}}}},)"
                "\n",
                percent);
        }
    }
    return text;
}

std::string link_lines(const network_use& what) {
    std::string text;
    for (const link_use& link : what.links) {
        put(text,
            R"({{"link":{},"messages":{},"bytes":{},"busy_ps":{},"wait_ps":{},"run_ps":{}}})"
            "\n",
            quoted(link.name), link.messages, link.bytes, link.busy_ps, link.wait_ps, what.run_ps);
    }
    return text;
}

}  // namespace selion::meters
