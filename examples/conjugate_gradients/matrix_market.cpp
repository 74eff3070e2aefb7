// SPDX-License-Identifier: Apache-2.0
#include "matrix_market.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace conjugate_gradients {

namespace {

std::string in_quotes(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string shown = "'";
    for (const char character : text.substr(0, longest)) {
        shown += std::isprint(static_cast<unsigned char>(character)) != 0 ? character : '?';
    }
    return shown + (text.size() > longest ? "…'" : "'");
}

/// Takes the next word off the front of a line; empty when there is none.
std::string_view take_word(std::string_view& line) {
    constexpr std::string_view blanks = " \t\r\v\f";
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

std::string lower_case(std::string_view word) {
    std::string lower(word);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return lower;
}

class parser {
public:
    parser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}
    sparse_matrix parse();

private:
    [[noreturn]] void reject(const std::string& what) const {
        throw bad_file(file_ + ":" + std::to_string(std::max<std::uint64_t>(line_, 1)) + ": " +
                       what);
    }
    std::string_view next_line();
    /// The next one that is neither empty nor a comment; `wanted` is missing if there is none.
    std::string_view next_content(const std::string& wanted);
    template <class Number>
    Number take(std::string_view& line, const char* what) const;
    std::uint32_t take_index(std::string_view& line, const char* what) const;
    void expect_end(std::string_view line) const;
    void parse_banner();
    void parse_size();
    void parse_entry();

    std::string_view rest_;
    const std::string& file_;
    std::uint64_t line_ = 0;
    bool has_values_ = true;
    bool is_symmetric_ = false;
    std::uint32_t rows_ = 0;
    std::uint64_t told_ = 0;  ///< entries, as the file says
    std::vector<entry> entries_;
    std::unordered_map<std::uint64_t, std::uint64_t> lines_;  ///< of each entry, by its place
};

std::string_view parser::next_line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    return line;
}

std::string_view parser::next_content(const std::string& wanted) {
    while (!rest_.empty()) {
        const std::string_view line = next_line();
        std::string_view words = line;
        if (!line.starts_with('%') && !take_word(words).empty()) return line;
    }
    reject("the file ends before " + wanted);
}

template <class Number>
Number parser::take(std::string_view& line, const char* what) const {
    std::string_view word = take_word(line);
    if (word.empty()) reject(std::string("the line ends before ") + what);
    const std::string_view shown = word;
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
    Number number{};
    const auto [end, trouble] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (trouble != std::errc{} || end != word.data() + word.size()) {
        reject(in_quotes(shown) + " is not " + what);
    }
    return number;
}

std::uint32_t parser::take_index(std::string_view& line, const char* what) const {
    const auto index = take<std::uint32_t>(line, what);
    if (index >= 1 && index <= rows_) return index - 1;
    reject(std::string(what) + " " + std::to_string(index) + " is not within 1 to " +
           std::to_string(rows_));
}

void parser::expect_end(std::string_view line) const {
    const std::string_view word = take_word(line);
    if (!word.empty()) reject(in_quotes(word) + " is too much in this line");
}

void parser::parse_banner() {
    std::string_view line = next_line();
    if (lower_case(take_word(line)) != "%%matrixmarket") {
        reject("not a Matrix Market file: its first line begins with %%MatrixMarket");
    }
    const auto expect = [&](const std::string& word, std::initializer_list<const char*> known) {
        if (std::find(known.begin(), known.end(), word) != known.end()) return;
        std::string all;
        for (const char* const one : known) all += (all.empty() ? "" : ", ") + std::string(one);
        reject(in_quotes(word) + " in the first line; this program reads " + all);
    };
    const std::string object = lower_case(take_word(line));
    expect(object, {"matrix"});
    expect(lower_case(take_word(line)), {"coordinate"});
    const std::string kind = lower_case(take_word(line));
    expect(kind, {"real", "double", "integer", "pattern"});
    const std::string symmetry = lower_case(take_word(line));
    expect(symmetry, {"general", "symmetric"});
    expect_end(line);
    has_values_ = kind != "pattern";
    is_symmetric_ = symmetry == "symmetric";
}

void parser::parse_size() {
    std::string_view line = next_content("the line with the size");
    rows_ = take<std::uint32_t>(line, "a number of rows");
    const auto columns = take<std::uint32_t>(line, "a number of columns");
    told_ = take<std::uint64_t>(line, "a number of entries");
    expect_end(line);
    if (rows_ == 0 || rows_ != columns) {
        reject("a matrix of " + std::to_string(rows_) + " x " + std::to_string(columns) +
               " is not square");
    }
}

void parser::parse_entry() {
    std::string_view line = next_content("entry " + std::to_string(entries_.size() + 1) + " of " +
                                         std::to_string(told_));
    const std::uint32_t row = take_index(line, "row");
    const std::uint32_t column = take_index(line, "column");
    const double value = has_values_ ? take<double>(line, "a number") : 1;
    expect_end(line);
    if (!std::isfinite(value)) reject("the value is not finite");
    if (is_symmetric_ && column > row) {
        reject("an entry above the diagonal; a symmetric file has those below it");
    }
    const auto [known, is_new] = lines_.try_emplace(std::uint64_t{row} << 32 | column, line_);
    if (!is_new) reject("this entry stands in line " + std::to_string(known->second) + " already");
    entries_.push_back({row, column, value});
}

sparse_matrix parser::parse() {
    parse_banner();
    parse_size();
    for (std::uint64_t i = 0; i < told_; ++i) parse_entry();
    while (!rest_.empty()) {
        std::string_view line = next_line();
        if (!line.starts_with('%') && !take_word(line).empty()) {
            reject("more than the " + std::to_string(told_) + " entries that the file claims");
        }
    }
    const std::size_t given = entries_.size();
    for (std::size_t i = 0; is_symmetric_ && i < given; ++i) {
        const entry below = entries_[i];
        if (below.row != below.column) entries_.push_back({below.column, below.row, below.value});
    }
    // Found here, so that no memory is asked for rows that are only claimed.
    if (entries_.size() < rows_) {
        reject(std::to_string(entries_.size()) + " elements in " + std::to_string(rows_) +
               " rows: some rows are empty");
    }
    return make_matrix(rows_, std::move(entries_));
}

}  // namespace

sparse_matrix parse_matrix_market(std::string_view text, const std::string& file) {
    return parser(text, file).parse();
}

sparse_matrix read_matrix_market(const std::string& file) {
    std::error_code trouble;
    const auto status = std::filesystem::status(file, trouble);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw bad_file(file + ": no such file");
    }
    if (!std::filesystem::is_regular_file(status)) throw bad_file(file + ": not a regular file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw bad_file(file + ": cannot be opened for reading");
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad()) throw bad_file(file + ": cannot be read");
    return parse_matrix_market(text, file);
}

}  // namespace conjugate_gradients
