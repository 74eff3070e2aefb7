// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "mesh_builder.hpp"
#include "mesh_file.hpp"
#include "text_lines.hpp"

namespace em3d {

namespace {

/// Statements of the format that say nothing about vertices and faces.
constexpr std::array<std::string_view, 41> other_statements = {
    "vt",     "vn",     "vp",     "cstype",     "deg",       "bmat",  "step",
    "p",      "l",      "curv",   "curv2",      "surf",      "parm",  "trim",
    "hole",   "scrv",   "sp",     "end",        "con",       "g",     "s",
    "mg",     "o",      "bevel",  "c_interp",   "d_interp",  "lod",   "maplib",
    "usemap", "usemtl", "mtllib", "shadow_obj", "trace_obj", "ctech", "stech",
    "call",   "csh",    "res",    "bsp",        "bzp",       "cdc"};

class obj_parser {
public:
    obj_parser(std::string_view text, const std::string& file)
        : lines_(text), file_(file), builder_(file, file_place::unit::line, 1) {}

    mesh parse();

private:
    [[noreturn]] void reject_line(const std::string& what) const {
        reject(file_, {file_place::unit::line, lines_.number()}, what);
    }
    void parse_statement(std::string_view line);
    void parse_vertex(std::string_view line);
    void parse_face(std::string_view line);
    std::uint32_t parse_corner(std::string_view word) const;
    /// A line that ends with a backslash goes on in the next one.
    std::string_view next_statement();

    text_lines lines_;
    const std::string& file_;
    mesh_builder builder_;
    std::vector<std::uint32_t> corners_;
    std::string joined_;
};

std::string_view obj_parser::next_statement() {
    std::string_view line = lines_.next();
    if (!line.ends_with('\\')) return line;
    joined_.clear();
    while (line.ends_with('\\')) {
        line.remove_suffix(1);
        joined_.append(line).push_back(' ');
        line = lines_.at_end() ? std::string_view{} : lines_.next();
    }
    return joined_.append(line);
}

void obj_parser::parse_vertex(std::string_view line) {
    std::array<double, 3> coordinates{};
    for (double& coordinate : coordinates) {
        const std::string_view word = take_word(line);
        if (word.empty()) reject_line("a vertex needs three coordinates");
        const std::optional<double> number = to_number<double>(word);
        if (!number) reject_line(in_quotes(word) + " is not a number");
        coordinate = *number;
    }
    builder_.add_vertex({coordinates[0], coordinates[1], coordinates[2]}, lines_.number());
}

std::uint32_t obj_parser::parse_corner(std::string_view word) const {
    const std::string_view vertex = word.substr(0, word.find('/'));
    const auto index = to_number<std::int64_t>(vertex);
    if (!index) reject_line(in_quotes(word) + " does not name a vertex");
    if (*index == 0) reject_line("vertices are numbered from 1 (or from -1 backwards), not from 0");
    const auto count = static_cast<std::int64_t>(builder_.vertex_count());
    const std::int64_t number = *index > 0 ? *index - 1 : count + *index;
    if (number < 0) {
        reject_line("index " + in_quotes(vertex) + " goes back beyond the first of the " +
                    std::to_string(count) + " vertices so far");
    }
    if (number > std::numeric_limits<std::uint32_t>::max()) {
        reject_line("index " + in_quotes(vertex) + " is larger than this program can number");
    }
    return static_cast<std::uint32_t>(number);
}

void obj_parser::parse_face(std::string_view line) {
    corners_.clear();
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
        corners_.push_back(parse_corner(word));
    }
    builder_.add_face(corners_, lines_.number());
}

void obj_parser::parse_statement(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::string_view keyword = take_word(line);
    if (keyword == "v") {
        parse_vertex(line);
    } else if (keyword == "f" || keyword == "fo") {
        parse_face(line);
    } else if (!keyword.empty() && std::find(other_statements.begin(), other_statements.end(),
                                             keyword) == other_statements.end()) {
        reject_line(in_quotes(keyword) + " is not a statement of an OBJ file");
    }
}

mesh obj_parser::parse() {
    while (!lines_.at_end()) parse_statement(next_statement());
    return std::move(builder_).finish(std::max<std::uint64_t>(lines_.number(), 1));
}

}  // namespace

mesh parse_obj(std::string_view text, const std::string& file) {
    return obj_parser(text, file).parse();
}

}  // namespace em3d
