// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "coherence/block_access.hpp"
#include "coherence/named_array.hpp"
#include "coherence/trace_format.hpp"

namespace selion::coherence {

/// What a trace says of its rank's part of a space.
struct trace_head {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::uint64_t run = 0;    ///< of the program: from 1
    std::uint64_t space = 0;  ///< spaces that were made before
    std::uint64_t block_bytes = 0;
    std::uint64_t offset = 0;  ///< of the space in each rank's memory
    std::uint64_t bytes = 0;
};

/// Writes one rank's accesses to a space into a file of its own. See `selion cache-advice`.
class access_trace {
public:
    /// @param folder is made if there is none. Rank 0 removes from it what an earlier run of the
    /// program has left, when it makes the first space of the first job.
    /// @pre where it does, no rank makes another space yet. @error selion::error: it cannot be
    /// written.
    access_trace(const std::string& folder, const trace_head& head);
    ~access_trace();
    access_trace(const access_trace&) = delete;
    access_trace& operator=(const access_trace&) = delete;

    void add_array(const named_array& array);
    /// @param now_ps of the rank's clock.
    void add(const block_access& one, std::int64_t now_ps);
    /// The rank has given up what it had written, or all copies.
    void add_flush(bool of_all_copies, std::int64_t now_ps);
    /// The end. @param misses that the rank has had. @param waited_ps in them.
    void finish(std::uint64_t misses, std::int64_t waited_ps);

private:
    /// About 100 MB; what comes later is counted.
    static constexpr std::uint64_t most_accesses = 20'000'000;
    static constexpr std::size_t full_bytes = 1 << 20;

    void put(trace_format::record what) { buffer_.push_back(static_cast<char>(what)); }
    void put(std::uint64_t number);
    void put_time(std::int64_t now_ps);
    void write_out();

    struct file_closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<std::FILE, file_closer> file_;
    std::vector<char> buffer_;
    std::uint64_t accesses_ = 0;
    std::uint64_t left_out_ = 0;
    std::uint64_t last_end_ = 0;
    std::int64_t last_ns_ = 0;
    bool is_finished_ = false;
};

}  // namespace selion::coherence
