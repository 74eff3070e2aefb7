// SPDX-License-Identifier: Apache-2.0
#include "ply_header.hpp"

#include <array>
#include <utility>

#include "bad_file.hpp"
#include "text_lines.hpp"

namespace em3d {

namespace {

struct type_name {
    std::string_view name;
    ply_type type;
};

constexpr std::array type_names = {
    type_name{"char", ply_type::int8},      type_name{"int8", ply_type::int8},
    type_name{"uchar", ply_type::uint8},    type_name{"uint8", ply_type::uint8},
    type_name{"short", ply_type::int16},    type_name{"int16", ply_type::int16},
    type_name{"ushort", ply_type::uint16},  type_name{"uint16", ply_type::uint16},
    type_name{"int", ply_type::int32},      type_name{"int32", ply_type::int32},
    type_name{"uint", ply_type::uint32},    type_name{"uint32", ply_type::uint32},
    type_name{"float", ply_type::float32},  type_name{"float32", ply_type::float32},
    type_name{"double", ply_type::float64}, type_name{"float64", ply_type::float64},
};

/// Reads header lines one by one; knows the file's name and the line for its messages.
class header_parser {
public:
    header_parser(std::string_view bytes, const std::string& file) : lines_(bytes), file_(file) {}

    ply_header parse();

private:
    [[noreturn]] void reject_line(const std::string& what) const {
        reject(file_, {file_place::unit::line, lines_.number()}, what);
    }
    /// @return true when the line ends the header.
    bool parse_line(std::string_view line);
    void parse_format(std::string_view line);
    void parse_element(std::string_view line);
    void parse_property(std::string_view line);
    ply_type parse_type(std::string_view word) const;
    std::string_view expect_word(std::string_view& line, const char* meaning) const;
    void expect_end(std::string_view line) const;

    text_lines lines_;
    const std::string& file_;
    ply_header header_;
    bool has_format_ = false;
};

std::string_view header_parser::expect_word(std::string_view& line, const char* meaning) const {
    const std::string_view word = take_word(line);
    if (word.empty()) reject_line(std::string("the header line lacks ") + meaning);
    return word;
}

void header_parser::expect_end(std::string_view line) const {
    const std::string_view word = take_word(line);
    if (!word.empty()) reject_line("the header line goes on with " + in_quotes(word));
}

ply_type header_parser::parse_type(std::string_view word) const {
    for (const type_name& known : type_names) {
        if (known.name == word) return known.type;
    }
    reject_line(in_quotes(word) +
                " is not a type; the types are char, uchar, short, ushort, int, " +
                "uint, float, double");
}

void header_parser::parse_format(std::string_view line) {
    const std::string_view format = expect_word(line, "a format");
    const std::string_view version = expect_word(line, "a version");
    expect_end(line);
    if (has_format_) reject_line("the header names a second format");
    has_format_ = true;
    if (format == "ascii") {
        header_.format = ply_format::ascii;
    } else if (format == "binary_little_endian") {
        header_.format = ply_format::little_endian;
    } else if (format == "binary_big_endian") {
        header_.format = ply_format::big_endian;
    } else {
        reject_line(in_quotes(format) + " is not a format; the formats are ascii, " +
                    "binary_little_endian, binary_big_endian");
    }
    if (version != "1.0") reject_line("version " + in_quotes(version) + " is not 1.0");
}

void header_parser::parse_element(std::string_view line) {
    ply_element element;
    element.name = expect_word(line, "the element's name");
    const std::string_view count = expect_word(line, "the element's count");
    expect_end(line);
    const auto number = to_number<std::uint64_t>(count);
    if (!number) reject_line(in_quotes(count) + " is not a count of elements");
    for (const ply_element& other : header_.elements) {
        if (other.name == element.name) {
            reject_line("element " + in_quotes(element.name) + " is declared twice");
        }
    }
    element.count = *number;
    element.declared_on_line = lines_.number();
    header_.elements.push_back(std::move(element));
}

void header_parser::parse_property(std::string_view line) {
    if (header_.elements.empty()) reject_line("a property comes before the first element");
    ply_element& element = header_.elements.back();
    ply_property property;
    std::string_view type = expect_word(line, "the property's type");
    if (type == "list") {
        property.count_type = parse_type(expect_word(line, "the type of the list's length"));
        if (!is_integer(*property.count_type)) {
            reject_line("the length of a list must have an integer type");
        }
        type = expect_word(line, "the type of the list's values");
    }
    property.type = parse_type(type);
    property.name = expect_word(line, "the property's name");
    expect_end(line);
    if (find_property(element, property.name)) {
        reject_line("property " + in_quotes(property.name) + " is declared twice");
    }
    element.properties.push_back(std::move(property));
}

bool header_parser::parse_line(std::string_view line) {
    const std::string_view keyword = take_word(line);
    if (keyword == "end_header") {
        expect_end(line);
        return true;
    }
    if (keyword == "format") {
        parse_format(line);
    } else if (keyword == "element") {
        parse_element(line);
    } else if (keyword == "property") {
        parse_property(line);
    } else if (keyword != "comment" && keyword != "obj_info") {
        reject_line(in_quotes(keyword) + " is not a line of a PLY header");
    }
    return false;
}

ply_header header_parser::parse() {
    const std::string_view all = lines_.rest();
    if (!starts_like_ply(all)) {
        reject(file_, {}, "not a PLY file: its first line is not 'ply'");
    }
    lines_.next();
    bool ended = false;
    while (!ended) {
        if (lines_.at_end()) reject_line("the file ends within the header");
        ended = parse_line(lines_.next());
    }
    if (!has_format_) reject_line("the header names no format");
    header_.lines = lines_.number();
    header_.bytes = all.size() - lines_.rest().size();
    return std::move(header_);
}

void check_vertices(const ply_element& element, const std::string& file) {
    const file_place place{file_place::unit::line, element.declared_on_line};
    for (const char* name : {"x", "y", "z"}) {
        const auto found = find_property(element, name);
        if (!found || element.properties[*found].count_type) {
            reject(file, place, std::string("the vertices lack a number ") + name);
        }
    }
}

void check_faces(const ply_element& element, const std::string& file) {
    const file_place place{file_place::unit::line, element.declared_on_line};
    const auto found = find_vertex_list(element);
    if (!found) {
        reject(file, place, "the faces lack a list vertex_indices (or vertex_index)");
    }
    if (!is_integer(element.properties[*found].type)) {
        reject(file, place, "the faces name their vertices with a type that is not an integer");
    }
}

void check_elements(const ply_header& header, const std::string& file) {
    bool has_vertices = false;
    bool has_faces = false;
    for (const ply_element& element : header.elements) {
        if (element.properties.empty()) {
            reject(file, {file_place::unit::line, element.declared_on_line},
                   "element " + in_quotes(element.name) + " has no properties");
        }
        if (element.name == "vertex") {
            check_vertices(element, file);
            has_vertices = true;
        } else if (element.name == "face") {
            check_faces(element, file);
            has_faces = true;
        }
    }
    const file_place end{file_place::unit::line, header.lines};
    if (!has_vertices) reject(file, end, "the header declares no element 'vertex'");
    if (!has_faces) reject(file, end, "the header declares no element 'face': no faces, no mesh");
}

}  // namespace

std::size_t byte_size(ply_type type) {
    switch (type) {
        case ply_type::int8:
        case ply_type::uint8: return 1;
        case ply_type::int16:
        case ply_type::uint16: return 2;
        case ply_type::int32:
        case ply_type::uint32:
        case ply_type::float32: return 4;
        case ply_type::float64: return 8;
    }
    return 0;
}

bool is_integer(ply_type type) { return type != ply_type::float32 && type != ply_type::float64; }

ply_header parse_ply_header(std::string_view bytes, const std::string& file) {
    ply_header header = header_parser(bytes, file).parse();
    check_elements(header, file);
    return header;
}

bool starts_like_ply(std::string_view bytes) {
    return bytes == "ply" || bytes.starts_with("ply\n") || bytes.starts_with("ply\r\n");
}

std::optional<std::size_t> find_property(const ply_element& element, std::string_view name) {
    for (std::size_t i = 0; i < element.properties.size(); ++i) {
        if (element.properties[i].name == name) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> find_vertex_list(const ply_element& face) {
    for (const char* name : {"vertex_indices", "vertex_index"}) {
        const auto found = find_property(face, name);
        if (found && face.properties[*found].count_type) return found;
    }
    return std::nullopt;
}

}  // namespace em3d
