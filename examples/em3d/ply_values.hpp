// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bad_file.hpp"
#include "ply_header.hpp"

namespace em3d {

/// The numbers behind a PLY header, row by row, whatever the format. Every 8-bit to 32-bit integer
/// and every float is exact in a double. All functions throw `bad_file`.
class ply_values {
public:
    virtual ~ply_values() = default;

    /// Begins row `number` (from 0) of the element.
    void begin_row(const ply_element& element, std::uint64_t number);
    virtual double next(ply_type type) = 0;
    /// Ends the row: nothing of it may be left.
    virtual void end_row() = 0;
    /// Passes over all rows of the element.
    void skip_rows(const ply_element& element);
    /// After the last row: the file must end here.
    virtual void finish() = 0;

    /// Place of the row in the file.
    virtual std::uint64_t place() const = 0;
    virtual file_place::unit counted_in() const = 0;

    /// A list's length. Throws `bad_file` unless it is a whole number from 0.
    std::uint64_t next_count(ply_type type);
    /// The number of a vertex. Throws `bad_file` unless it is a whole number from 0 to 2^32 - 1.
    std::uint32_t next_index(ply_type type);

protected:
    explicit ply_values(const std::string& file) : file_(file) {}
    /// Goes to the next row; false at the end of the file.
    virtual bool find_row() = 0;
    virtual void skip_row(const ply_element& element) = 0;
    /// The row in words.
    std::string row_name() const;
    [[noreturn]] void reject_row(const std::string& what) const {
        reject(file_, {counted_in(), place()}, what);
    }

private:
    const std::string& file_;
    const ply_element* element_ = nullptr;
    std::uint64_t row_number_ = 0;
};

/// @param bytes the whole file. @pre `bytes` and `file` outlive the values.
std::unique_ptr<ply_values> open_ply_values(const ply_header& header, std::string_view bytes,
                                            const std::string& file);

}  // namespace em3d
