// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a table, whose rows are in order and possible, or the rest of a sentence.
// They are tried as a whole file, and as the rows of a file whose check sum is right.
#include "collectives/tuning/tuning_table.hpp"
#include <selion/detail/hash.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using selion::collectives::tuning_row;
using selion::collectives::tuning_table;

constexpr std::string_view host = "0123456789abcdef";

void expect(bool condition) {
    if (!condition) std::abort();
}

std::string hexadecimal(std::uint64_t number) {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15];
    return text;
}

/// Each line of the input is a row.
std::string file_of(std::string_view lines) {
    std::uint64_t hash = selion::detail::text_hash(host);
    std::string rows;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view row = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (row.empty()) continue;
        hash = selion::detail::text_hash(row, selion::detail::text_hash("\n", hash));
        rows += (rows.empty() ? "\"" : ",\n\"") + std::string(row) + "\"";
    }
    return "\"format\": \"selion tuning 1\",\n\"host\": \"" + std::string(host) +
           "\",\n\"rows\": [\n" + rows + "\n],\n\"check\": \"" + hexadecimal(hash) + "\"\n";
}

void check(const std::string_view text) {
    const auto read = tuning_table::read(text, host, "threads");
    if (!read) {
        expect(!std::string_view(read.trouble().what()).empty());
        return;
    }
    for (std::size_t what = 0; what < selion::collective_kinds; ++what) {
        for (const std::uint32_t members : {1u, 2u, 5u, 1000u}) {
            const auto rows =
                read.value().rows(static_cast<selion::collective_kind>(what), members);
            for (const tuning_row& row : rows) {
                expect(row.members <= members && 2 * row.members >= members);
                expect(row.bytes >= rows.front().bytes && !row.candidates.empty());
            }
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    check(file_of(bytes));
    return 0;
}
