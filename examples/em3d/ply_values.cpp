// SPDX-License-Identifier: Apache-2.0
#include "ply_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "text_lines.hpp"

namespace em3d {

namespace {

/// One row a line, values apart by blanks; empty lines count for nothing.
class ascii_values : public ply_values {
public:
    ascii_values(const ply_header& header, std::string_view bytes, const std::string& file)
        : ply_values(file), lines_(bytes) {
        while (lines_.number() < header.lines) lines_.next();
    }

    double next(ply_type) override {
        const std::string_view word = take_word(line_);
        if (word.empty()) reject_row("the line ends within " + row_name());
        const std::optional<double> number = to_number<double>(word);
        if (!number) reject_row(in_quotes(word) + " is not a number");
        return *number;
    }

    void end_row() override {
        const std::string_view word = take_word(line_);
        if (!word.empty()) {
            reject_row("the line goes on with " + in_quotes(word) + " after " + row_name());
        }
    }

    void finish() override {
        if (find_row()) reject_row("the file goes on after all that its header declares");
    }

    std::uint64_t place() const override { return lines_.number(); }
    file_place::unit counted_in() const override { return file_place::unit::line; }

private:
    bool find_row() override {
        while (!lines_.at_end()) {
            line_ = lines_.next();
            std::string_view copy = line_;
            if (!take_word(copy).empty()) return true;
        }
        return false;
    }

    void skip_row(const ply_element&) override {}

    text_lines lines_;
    std::string_view line_;
};

/// Rows back to back, numbers in the declared byte order.
class binary_values : public ply_values {
public:
    binary_values(const ply_header& header, std::string_view bytes, const std::string& file)
        : ply_values(file),
          bytes_(bytes),
          position_(header.bytes),
          row_(header.bytes),
          swap_((header.format == ply_format::little_endian) !=
                (std::endian::native == std::endian::little)) {}

    double next(ply_type type) override {
        switch (type) {
            case ply_type::int8: return take<std::int8_t>();
            case ply_type::uint8: return take<std::uint8_t>();
            case ply_type::int16: return take<std::int16_t>();
            case ply_type::uint16: return take<std::uint16_t>();
            case ply_type::int32: return take<std::int32_t>();
            case ply_type::uint32: return take<std::uint32_t>();
            case ply_type::float32: return static_cast<double>(take<float>());
            case ply_type::float64: return take<double>();
        }
        return 0;
    }

    void end_row() override {}

    void finish() override {
        row_ = position_;
        if (position_ == bytes_.size()) return;
        reject_row("the file goes on for " + std::to_string(bytes_.size() - position_) +
                   " bytes after all that its header declares");
    }

    std::uint64_t place() const override { return row_; }
    file_place::unit counted_in() const override { return file_place::unit::byte; }

private:
    bool find_row() override {
        row_ = position_;
        return position_ < bytes_.size();
    }

    void skip_row(const ply_element& element) override {
        for (const ply_property& property : element.properties) {
            skip_bytes(property.count_type ? next_count(*property.count_type) : 1,
                       byte_size(property.type));
        }
    }

    /// The file may be of any length, so a count in it is compared before it is used.
    void skip_bytes(std::uint64_t count, std::size_t size) {
        if (count > (bytes_.size() - position_) / size) {
            reject_row("the file ends within " + row_name());
        }
        position_ += count * size;
    }

    template <class Number>
    Number take() {
        std::array<char, sizeof(Number)> raw;
        const std::size_t from = position_;
        skip_bytes(1, sizeof(Number));
        std::memcpy(raw.data(), bytes_.data() + from, raw.size());
        if (swap_) std::reverse(raw.begin(), raw.end());
        return std::bit_cast<Number>(raw);
    }

    std::string_view bytes_;
    std::size_t position_;
    std::size_t row_;
    bool swap_;
};

bool is_whole(double number, double most) {
    return number >= 0 && number <= most && number == std::floor(number);
}

std::string shown(double number) {
    std::array<char, 32> text;
    const auto [end, trouble] = std::to_chars(text.data(), text.data() + text.size(), number);
    return std::string(text.data(), end);
}

}  // namespace

std::string ply_values::row_name() const {
    return in_quotes(element_->name) + " " + std::to_string(row_number_) + " of " +
           std::to_string(element_->count);
}

void ply_values::begin_row(const ply_element& element, std::uint64_t number) {
    element_ = &element;
    row_number_ = number;
    if (!find_row()) reject_row("the file ends before " + row_name());
}

void ply_values::skip_rows(const ply_element& element) {
    for (std::uint64_t row = 0; row < element.count; ++row) {
        begin_row(element, row);
        skip_row(element);
    }
}

std::uint64_t ply_values::next_count(ply_type type) {
    const double number = next(type);
    if (!is_whole(number, std::numeric_limits<std::uint32_t>::max())) {
        reject_row(shown(number) + " is not the length of a list");
    }
    return static_cast<std::uint64_t>(number);
}

std::uint32_t ply_values::next_index(ply_type type) {
    const double number = next(type);
    if (!is_whole(number, std::numeric_limits<std::uint32_t>::max())) {
        reject_row(shown(number) + " is not the number of a vertex");
    }
    return static_cast<std::uint32_t>(number);
}

std::unique_ptr<ply_values> open_ply_values(const ply_header& header, std::string_view bytes,
                                            const std::string& file) {
    if (header.format == ply_format::ascii) {
        return std::make_unique<ascii_values>(header, bytes, file);
    }
    return std::make_unique<binary_values>(header, bytes, file);
}

}  // namespace em3d
