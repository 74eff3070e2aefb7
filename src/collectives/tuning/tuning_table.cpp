// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuning_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "base/units.hpp"
#include "collectives/collective_plan.hpp"
#include "selion/detail/hash.hpp"
#include "selion/tuning.hpp"

namespace selion::collectives {
namespace {

constexpr std::string_view format_name = "selion tuning 1";

/// The lines that matter of a file, as they are written: no escapes, one string a line.
struct tuning_file {
    std::string_view format;
    std::string_view host;
    std::string_view check;
    std::vector<std::string_view> rows;
};

std::string_view without_ends(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r,") + 1 - first);
}

/// The value of `"key": "value"`; nothing where the line is another.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    const std::string start = fmt::format("\"{}\": \"", key);
    if (!line.starts_with(start) || !line.ends_with('"') || line.size() == start.size()) return {};
    return line.substr(start.size(), line.size() - start.size() - 1);
}

tuning_file take_apart(std::string_view text) {
    tuning_file found;
    bool is_in_rows = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = without_ends(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (is_in_rows && line.size() > 2 && line.front() == '"' && line.back() == '"') {
            found.rows.push_back(line.substr(1, line.size() - 2));
            continue;
        }
        is_in_rows = line == "\"rows\": [";
        if (const auto format = value_of(line, "format")) found.format = *format;
        if (const auto host = value_of(line, "host")) found.host = *host;
        if (const auto check = value_of(line, "check")) found.check = *check;
    }
    return found;
}

std::uint64_t check_of(const tuning_file& file) {
    std::uint64_t hash = detail::text_hash(file.host);
    for (const std::string_view row : file.rows) {
        hash = detail::text_hash(row, detail::text_hash("\n", hash));
    }
    return hash;
}

std::string_view next_word(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
}

/// What `make_schedule` would refuse, without making one.
void expect_schedule(const schedule_request& schedule, const tuning_row& row) {
    const auto legal = algorithms_for(row.what);
    if (std::ranges::find(legal, schedule.algorithm) == legal.end()) {
        throw error(status::bad_argument, fmt::format("{} has no algorithm {}", name_of(row.what),
                                                      name_of(schedule.algorithm)));
    }
    const std::uint32_t most = std::max(row.members, 2u);
    if (uses_radix(schedule.algorithm) && schedule.radix > most) {
        throw error(
            status::bad_argument,
            fmt::format("a radix of {} is not possible; legal: 2 to {}", schedule.radix, most));
    }
    if (schedule.segments != 1 && !uses_segments(row.what, schedule.algorithm)) {
        throw error(status::bad_argument,
                    fmt::format("{} by {} goes in no segments", name_of(row.what),
                                name_of(schedule.algorithm)));
    }
    if (schedule.segments > most_segments) {
        throw error(status::bad_argument,
                    fmt::format("{} segments are not possible; legal: 1 to {}", schedule.segments,
                                most_segments));
    }
}

/// @error selion::error for what does not exist.
tuning_candidate read_candidate(std::string_view word, const tuning_row& row) {
    const std::size_t equals = std::min(word.find('='), word.size());
    tuning_candidate made{choice_of(word.substr(0, equals)), 0, false};
    const std::string_view number = word.substr(std::min(equals + 1, word.size()));
    const auto [end, trouble] =
        std::from_chars(number.data(), number.data() + number.size(), made.ns);
    if (trouble != std::errc{} || end != number.data() + number.size() || !(made.ns > 0)) {
        throw error(status::bad_argument, fmt::format("'{}' has no time", word));
    }
    if (follows_schedule(made.choice.way)) expect_schedule(made.choice.schedule, row);
    made.keeps_association = keeps_association(row.what, made.choice, row.members);
    return made;
}

/// @return nothing for a row of another machine. @error selion::error
std::optional<tuning_row> read_row(std::string_view text, std::string_view machine) {
    std::string_view rest = text;
    const std::string_view what = next_word(rest);
    if (next_word(rest) != machine) return std::nullopt;
    const auto members = base::parse_whole(next_word(rest));
    const auto bytes = base::parse_whole(next_word(rest));
    if (!members || *members == 0 || *members > UINT32_MAX || !bytes || rest.empty()) {
        throw error(status::bad_argument, "a row is too short");
    }
    tuning_row row{collective_of(what), static_cast<std::uint32_t>(*members), *bytes, {}};
    while (!rest.empty()) row.candidates.push_back(read_candidate(next_word(rest), row));
    return row;
}

error refusal(const std::string& why) { return {status::bad_argument, why}; }

auto place_of(const tuning_row& row) { return std::tuple(row.what, row.members, row.bytes); }

}  // namespace

std::string_view machine_in(std::string_view row) {
    next_word(row);
    return next_word(row);
}

result<std::vector<std::string_view>> tuning_table::rows_in(std::string_view text,
                                                            std::span<const std::string> hosts) {
    tuning_file file = take_apart(text);
    if (file.format.empty()) return refusal("is damaged or no tuning table");
    if (file.format != format_name) {
        return refusal(fmt::format("is of the format '{}'; this version reads '{}'", file.format,
                                   format_name));
    }
    if (file.check != fmt::format("{:016x}", check_of(file))) {
        return refusal("is damaged: its rows are not those that 'selion tune' wrote");
    }
    if (std::ranges::find(hosts, file.host) == hosts.end()) {
        return refusal("was measured on another host, or with other processors");
    }
    return std::move(file.rows);
}

result<tuning_table> tuning_table::of_rows(std::span<const std::string_view> rows,
                                           std::string_view machine) {
    tuning_table made;
    try {
        for (const std::string_view row : rows) {
            if (auto read = read_row(row, machine)) made.rows_.push_back(std::move(*read));
        }
    } catch (const error& trouble) {
        return refusal(fmt::format("has a row that is not understood: {}", trouble.what()));
    }
    std::ranges::sort(made.rows_, {}, place_of);
    return made;
}

result<tuning_table> tuning_table::read(std::string_view text, std::string_view host,
                                        std::string_view machine) {
    const std::string own(host);
    const auto rows = rows_in(text, std::span(&own, 1));
    if (!rows) return rows.trouble();
    return of_rows(rows.value(), machine);
}

std::span<const tuning_row> tuning_table::rows(collective_kind what, std::uint32_t members) const {
    const auto most =
        std::ranges::upper_bound(rows_, std::tuple(what, members, SIZE_MAX), {}, place_of);
    if (most == rows_.begin()) return {};
    const tuning_row& last = *std::prev(most);
    if (last.what != what || 2 * std::uint64_t{last.members} < members) return {};
    const auto first = std::ranges::lower_bound(
        rows_, std::tuple(what, last.members, std::size_t{0}), {}, place_of);
    return {first, most};
}

}  // namespace selion::collectives
