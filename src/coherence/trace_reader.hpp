// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "coherence/access_trace.hpp"

namespace selion::coherence {

/// What a rank has done, as a trace has it.
struct traced_access {
    trace_format::record what = trace_format::record::read;  ///< or write, flush, invalidate
    // Of reads and writes:
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    // Of all:
    std::int64_t at_ns = 0;
};

/// Reads one file that `access_trace` has written.
class trace_reader {
public:
    /// @error selion::error: it is no such file.
    explicit trace_reader(const std::string& path);

    const trace_head& head() const { return head_; }
    /// Goes on to the next access. @return false: there is none. @error selion::error: the file is
    /// damaged. One that ends early is not; see `is_whole`.
    bool advance();
    const traced_access& access() const { return access_; }

    // After the last access:
    const std::vector<named_array>& arrays() const { return arrays_; }
    bool is_whole() const { return is_whole_; }
    std::uint64_t misses() const { return misses_; }
    std::int64_t waited_ps() const { return waited_ps_; }
    std::uint64_t left_out() const { return left_out_; }

private:
    std::uint64_t number();
    void read_array();
    void read_totals();
    bool read_access(trace_format::record what);
    bool read_time();
    [[noreturn]] void refuse(const std::string& what);

    std::string path_;
    std::vector<char> buffer_;
    std::ifstream file_;
    std::uint64_t file_bytes_ = 0;
    trace_head head_;
    traced_access access_;
    std::vector<named_array> arrays_;
    bool is_whole_ = false;
    std::uint64_t misses_ = 0;
    std::int64_t waited_ps_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace selion::coherence
