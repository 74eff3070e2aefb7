// SPDX-License-Identifier: Apache-2.0
#include "coherence/access_trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "machine/process/file_size_limit.hpp"
#include "selion/error.hpp"

namespace selion::coherence {

using trace_format::fold_sign;
using trace_format::record;

namespace {

std::string file_name(std::uint64_t run, std::uint64_t space, std::uint32_t rank) {
    return fmt::format("run-{}-space-{}-rank-{}.trace", run, space, rank);
}

/// Whether a file of that name was left by a run of the program before this one, whose ranks may be
/// opening those of its first space now.
bool is_left_over(const std::string& name, std::uint32_t ranks) {
    std::uint64_t run = 0;
    std::uint64_t space = 0;
    std::uint32_t rank = 0;
    constexpr const char* form = "run-%" SCNu64 "-space-%" SCNu64 "-rank-%" SCNu32;
    if (std::sscanf(name.c_str(), form, &run, &space, &rank) != 3) return false;
    return name == file_name(run, space, rank) && (run != 1 || space != 0 || rank >= ranks);
}

/// What cannot be removed stays, and who replays the traces is told.
void remove_left_over(const std::string& folder, std::uint32_t ranks) {
    std::error_code trouble;
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder, trouble)) {
        if (is_left_over(entry.path().filename().string(), ranks)) found.push_back(entry.path());
    }
    for (const std::filesystem::path& each : found) std::filesystem::remove(each, trouble);
}

}  // namespace

access_trace::access_trace(const std::string& folder, const trace_head& head) {
    std::error_code trouble;
    std::filesystem::create_directories(folder, trouble);
    if (head.run == 1 && head.space == 0 && head.rank == 0) remove_left_over(folder, head.ranks);
    path_ = folder + '/' + file_name(head.run, head.space, head.rank);
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (file_ == nullptr) {
        throw error(status::bad_argument,
                    fmt::format("the trace {} cannot be written: {}", path_, std::strerror(errno)));
    }
    buffer_.assign(trace_format::magic.begin(), trace_format::magic.end());
    for (const std::uint64_t number :
         {std::uint64_t{head.rank}, std::uint64_t{head.ranks}, head.run, head.space,
          head.block_bytes, head.offset, head.bytes}) {
        put(number);
    }
    write_out();
}

access_trace::~access_trace() {
    if (!is_finished_) write_out();
}

void access_trace::put(std::uint64_t number) {
    constexpr unsigned bits = 7;
    constexpr std::uint64_t more = 1 << bits;
    for (; number >= more; number >>= bits) {
        buffer_.push_back(static_cast<char>(number % more | more));
    }
    buffer_.push_back(static_cast<char>(number));
}

void access_trace::add_array(const named_array& array) {
    put(record::array);
    put(array.offset);
    put(array.bytes);
    put(array.name.size());
    buffer_.insert(buffer_.end(), array.name.begin(), array.name.end());
}

void access_trace::add(const block_access& one, std::int64_t now_ps) {
    if (one.kind == access_kind::touch || file_ == nullptr) return;
    if (accesses_ == most_accesses) {
        ++left_out_;
        return;
    }
    ++accesses_;
    put(writes(one.kind) ? record::write : record::read);
    put(fold_sign(static_cast<std::int64_t>(one.address - last_end_)));
    put(one.bytes);
    put_time(now_ps);
    last_end_ = one.address + one.bytes;
    if (buffer_.size() >= full_bytes) write_out();
}

void access_trace::add_flush(bool of_all_copies, std::int64_t now_ps) {
    if (file_ == nullptr || left_out_ != 0) return;
    put(of_all_copies ? record::invalidate : record::flush);
    put_time(now_ps);
}

void access_trace::put_time(std::int64_t now_ps) {
    constexpr std::int64_t ps_per_ns = 1000;
    const std::int64_t now_ns = now_ps / ps_per_ns;
    put(fold_sign(now_ns - last_ns_));
    last_ns_ = now_ns;
}

void access_trace::finish(std::uint64_t misses, std::int64_t waited_ps) {
    put(record::totals);
    put(misses);
    put(static_cast<std::uint64_t>(waited_ps));
    put(left_out_);
    write_out();
    is_finished_ = true;
}

/// A file that takes no more ends there, which who reads it notices.
void access_trace::write_out() {
    if (file_ == nullptr) return buffer_.clear();
    const machine::file_size_limit_is_error limit;
    const bool is_written =
        std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) == buffer_.size() &&
        std::fflush(file_.get()) == 0;
    buffer_.clear();
    if (is_written) return;
    std::fprintf(stderr, "selion: the trace %s takes no more: %s\n", path_.c_str(),
                 std::strerror(errno));
    file_.reset();
}

}  // namespace selion::coherence
