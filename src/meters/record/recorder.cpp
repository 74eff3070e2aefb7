// SPDX-License-Identifier: Apache-2.0
#include "meters/record/recorder.hpp"

#include <fmt/format.h>

#include <limits>

#include "meters/record/trace_text.hpp"

namespace selion::meters {
namespace {

constexpr std::int64_t ps_per_ns = 1000;

/// Where it would go beyond what a number holds it stays there.
void add_to(std::int64_t& total, std::int64_t by) {
    if (!__builtin_add_overflow(total, by, &total)) return;
    total = by > 0 ? std::numeric_limits<std::int64_t>::max()
                   : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

void recorder::count(const char* name, std::int64_t by, std::int64_t at_ps, const counted_as& how) {
    slot& into = slots_[{name, slice_kind::count, how.unit}];
    ++into.count;
    add_to(into.total, by);
    note_first_place(into, how.file, how.line);
    draw({.name = name,
          .start_ps = at_ps,
          .end_ps = at_ps,
          .kind = slice_kind::count,
          .bytes = static_cast<std::uint64_t>(into.total)});
}

void recorder::note_first_place(slot& into, const char* file, std::uint32_t line) {
    if (into.file != nullptr) return;
    into.file = file;
    into.line = line;
}

void recorder::add(slot& into, const occurrence& what, std::int64_t duration_ps) {
    into.is_timer = true;
    ++into.count;
    into.total += duration_ps;
    into.bytes += what.bytes;
    note_first_place(into, what.file, what.line);
}

void recorder::record(const occurrence& what, std::int64_t duration_ps) {
    add(slots_[{what.name, what.kind, time_unit}], what, duration_ps);
    amount& of_kind = amounts_[static_cast<std::size_t>(what.kind)];
    ++of_kind.count;
    of_kind.bytes += static_cast<std::int64_t>(what.bytes);
    of_kind.duration_ps += duration_ps;
    if (what.file != nullptr) add(places_[{what.name, what.file, what.line}], what, duration_ps);
    draw(what);
}

recorder::amount recorder::amount_of(slice_kind kind, std::string_view name) const {
    const auto found = slots_.find({name, kind, time_unit});
    if (found == slots_.end()) return {};
    const slot& from = found->second;
    return {from.count, static_cast<std::int64_t>(from.bytes), from.total};
}

meter_reading recorder::reading_of(std::string_view name, std::string_view unit, const slot& from) {
    return {std::string(name),
            std::string(unit),
            from.count,
            from.is_timer ? from.total / ps_per_ns : from.total,
            static_cast<std::int64_t>(from.bytes),
            from.file == nullptr ? std::string() : fmt::format("{}:{}", from.file, from.line)};
}

std::vector<meter_reading> recorder::readings() const {
    std::vector<meter_reading> all;
    for (const auto& [what, from] : slots_) {
        all.push_back(reading_of(what.name, what.unit, from));
    }
    return all;
}

std::vector<meter_reading> recorder::readings_by_line() const {
    std::vector<meter_reading> all;
    for (const auto& [where, from] : places_) {
        all.push_back(reading_of(where.name, time_unit, from));
    }
    return all;
}

std::string recorder::reading_lines(std::uint32_t rank) const {
    std::string out;
    for (const auto& [what, from] : slots_) {
        const meter_reading reading = reading_of(what.name, what.unit, from);
        out += fmt::format(R"({{"rank":{},"name":{},"kind":"{}","unit":"{}","count":{},"total":{},)"
                           R"("bytes":{},"site":{}}})"
                           "\n",
                           rank, quoted(reading.name), category_of(what.kind), reading.unit,
                           reading.count, reading.total, reading.bytes, quoted(reading.site));
    }
    return out;
}

}  // namespace selion::meters
