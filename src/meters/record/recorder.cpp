// SPDX-License-Identifier: Apache-2.0
#include "meters/record/recorder.hpp"

#include <fmt/format.h>

#include <iterator>

namespace selion::meters {
namespace {

/// A JSON string. Names are literals of programs: quotes, backslashes and control characters occur.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

/// The trace format counts microseconds.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

void recorder::count(const char* name, std::int64_t amount) {
    slot& into = slots_[name];
    ++into.count;
    into.total += amount;
}

void recorder::record(const occurrence& what) {
    slot& into = slots_[what.name];
    into.is_timer = true;
    ++into.count;
    into.total += what.end_ns - what.start_ns;
    into.bytes += what.bytes;
    if (into.file == nullptr) {
        into.file = what.file;
        into.line = what.line;
    }
    if (!keeps_events_) return;
    if (events_.size() < most_events) {
        events_.push_back(what);
    } else {
        ++dropped_;
    }
}

std::vector<meter_reading> recorder::readings() const {
    std::vector<meter_reading> all;
    for (const auto& [name, from] : slots_) {
        all.push_back(
            {std::string(name), from.is_timer ? "ns" : "events", from.count, from.total,
             static_cast<std::int64_t>(from.bytes),
             from.file == nullptr ? std::string() : fmt::format("{}:{}", from.file, from.line)});
    }
    return all;
}

std::string recorder::trace_events(std::uint32_t rank) const {
    fmt::memory_buffer out;
    auto to = std::back_inserter(out);
    fmt::format_to(
        to,
        R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":"rank {}"}}}},)"
        "\n",
        rank, rank);
    for (const occurrence& event : events_) {
        fmt::format_to(
            to, R"({{"ph":"X","pid":0,"tid":{},"name":{},"ts":{},"dur":{},"args":{{"bytes":{})",
            rank, quoted(event.name), microseconds(event.start_ns),
            microseconds(event.end_ns - event.start_ns), event.bytes);
        if (event.file != nullptr) {
            fmt::format_to(to, R"(,"at":{})", quoted(fmt::format("{}:{}", event.file, event.line)));
        }
        fmt::format_to(to, "}}}},\n");
    }
    for (const auto& [name, from] : slots_) {
        if (from.is_timer || events_.empty()) continue;
        fmt::format_to(to,
                       R"({{"ph":"C","pid":0,"tid":{},"name":{},"ts":{},"args":{{"total":{}}}}},)"
                       "\n",
                       rank, quoted(fmt::format("{} (rank {})", name, rank)),
                       microseconds(events_.back().end_ns), from.total);
    }
    if (dropped_ != 0) {
        fmt::format_to(
            to,
            R"({{"ph":"M","pid":0,"tid":{},"name":"dropped_events","args":{{"count":{}}}}},)"
            "\n",
            rank, dropped_);
    }
    return fmt::to_string(out);
}

std::string recorder::reading_lines(std::uint32_t rank) const {
    std::string out;
    for (const meter_reading& reading : readings()) {
        out += fmt::format(
            R"({{"rank":{},"name":{},"unit":"{}","count":{},"total":{},"bytes":{},"site":{}}})"
            "\n",
            rank, quoted(reading.name), reading.unit, reading.count, reading.total, reading.bytes,
            quoted(reading.site));
    }
    return out;
}

std::string trace_head(std::string_view machine, std::uint32_t ranks) {
    return fmt::format(
        "[\n"
        R"({{"ph":"M","pid":0,"name":"process_name","args":{{"name":{}}}}},)"
        "\n",
        quoted(fmt::format("{} ranks on {}", ranks, machine)));
}

std::string trace_tail() {
    return R"({"ph":"M","pid":0,"name":"end_of_trace","args":{}}])"
           "\n";
}

}  // namespace selion::meters
