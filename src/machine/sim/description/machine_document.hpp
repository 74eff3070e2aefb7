// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "selion/error.hpp"

/// A machine file as it is written, before anybody asks what its keys mean.
namespace selion::machine::sim {

using plain_value =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

/// Who says a value; the later of two has the last word.
enum class said_by : std::uint8_t { file, choice, spec };

/// `key = value`, with what is said about its source.
struct written_value {
    std::string key;  ///< without its table: "latency_us"
    plain_value value;
    std::string text;    ///< as written, for tables
    std::string source;  ///< its own or its table's; empty: there is none
    std::string place;   ///< "crossbar.toml, line 12", or "option network.latency_us"
    said_by speaker = said_by::file;
};

/// `[path]`, or one of several `[[path]]`.
struct written_table {
    std::string path;         ///< "network", "operations.put"
    std::uint32_t index = 0;  ///< among tables of the same path, from 1; 0: there can be only one
    std::string place;
    std::vector<written_value> values;

    const written_value* find(std::string_view key) const;
    /// "operations.put.2" of the second, "network" of an only one.
    std::string name() const;
};

/// One word that an option may be set to, and what it changes: keys with their tables.
struct written_choice {
    std::string name;
    std::vector<written_value> changes;
};

/// A short key that the file declares.
struct written_option {
    std::string name;
    std::string target;                   ///< another name for this key ...
    std::vector<written_choice> choices;  ///< ... or one of several sets of values
    std::string default_choice;
    std::string place;
};

struct machine_document {
    std::string file;  ///< as sentences name it
    std::vector<written_table> tables;
    std::vector<written_option> options;
};

/// Reads a file's text. Sources are legal where they stand; whether they must is for who knows the
/// keys (`check_value`).
/// @param file as sentences shall name it.
/// @error bad_argument (thrown) in one sentence with file and line.
machine_document parse_document(std::string_view text, const std::string& file);

/// What a value is, for sentences: "a number", "a truth value".
std::string_view type_of(const plain_value& value);

/// An error of kind `bad_argument`: "PLACE: MISTAKE".
[[noreturn]] void reject(std::string_view place, std::string_view mistake);

}  // namespace selion::machine::sim
