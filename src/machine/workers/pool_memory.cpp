// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/pool_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/units.hpp"
#include "machine/host/host.hpp"
#include "machine/host/memory_file.hpp"

namespace selion::machine::workers {
namespace {

std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

std::uint64_t shared_place() { return whole_pages(sizeof(pool_head)); }

std::byte* reserve(std::uint64_t bytes) {
    void* const range =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return range == MAP_FAILED ? nullptr : static_cast<std::byte*>(range);
}

/// Puts a part of the file, or fresh memory, in a place of a range that is reserved.
bool map_at(std::byte* place, std::uint64_t bytes, int file, std::uint64_t offset) {
    const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* const mapped = mmap(place, bytes, PROT_READ | PROT_WRITE,
                              flags | MAP_NORESERVE | MAP_FIXED, file, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return false;
    madvise(mapped, bytes, MADV_DONTDUMP);
    return true;
}

error no_memory(std::uint64_t bytes) {
    const char limit = errno == EFBIG ? 'f' : 'v';  // of the file that is mapped, or of all memory
    const std::string why = std::strerror(errno);
    return {status::out_of_memory,
            fmt::format("cannot have {} of address space for a pool of workers ({}); give them "
                        "less memory, or raise `ulimit -{}`",
                        base::bytes_text(bytes), why, limit)};
}

}  // namespace

result<pool_memory> pool_memory::create(const pool_plan& plan) {
    pool_head head{};
    head.magic = pool_magic;
    head.shared_bytes = shared_place() + whole_pages(plan.shared_bytes);
    head.memory_bytes = whole_pages(plan.memory_bytes);
    head.area_bytes = whole_pages(sizeof(worker_area)) + head.memory_bytes;
    head.host_processor = sched_getcpu();
    head.measures = plan.measures ? 1 : 0;
    head.waiting = plan.waiting;
    const std::uint64_t bytes = head.shared_bytes + plan.workers * head.area_bytes;
    int file = -1;
    if (plan.is_file) {
        file = make_sealed_file("selion-workers", bytes);
        if (file < 0) return no_memory(bytes);
    }
    std::byte* const start = reserve(bytes);
    if (start == nullptr || !map_at(start, bytes, file, 0)) {
        if (file >= 0) close(file);
        return no_memory(bytes);
    }
    new (start) pool_head(head);
    return pool_memory(start, bytes, file);
}

result<pool_memory> pool_memory::attach(int file, std::uint32_t worker) {
    pool_head head{};
    if (pread(file, &head, sizeof head, 0) != ssize_t{sizeof head} || head.magic != pool_magic) {
        return error(status::system_failure,
                     "this process was started as a worker of a pool that is gone; start the "
                     "program without SELION_JOB_WORKER");
    }
    const std::uint64_t bytes = head.shared_bytes + head.area_bytes;
    std::byte* const start = reserve(bytes);
    const std::uint64_t own = head.shared_bytes + worker * head.area_bytes;
    if (start == nullptr || !map_at(start, head.shared_bytes, file, 0) ||
        !map_at(start + head.shared_bytes, head.area_bytes, file, own)) {
        return no_memory(bytes);
    }
    return pool_memory(start, bytes, file);
}

pool_memory::pool_memory(pool_memory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      bytes_(other.bytes_),
      file_(std::exchange(other.file_, -1)) {}

pool_memory::~pool_memory() {
    if (start_ != nullptr) munmap(start_, bytes_);
    if (file_ >= 0) close(file_);
}

worker_area& pool_memory::area(std::uint32_t worker) const {
    return *reinterpret_cast<worker_area*>(start_ + head().shared_bytes +
                                           worker * head().area_bytes);
}

std::byte* pool_memory::memory(std::uint32_t worker) const {
    return reinterpret_cast<std::byte*>(&area(worker)) + whole_pages(sizeof(worker_area));
}

std::uint64_t pool_memory::memory_place() const {
    return head().shared_bytes + whole_pages(sizeof(worker_area));
}

std::byte* pool_memory::shared() const { return start_ + shared_place(); }
std::uint64_t pool_memory::shared_bytes() const { return head().shared_bytes - shared_place(); }

/// Pages that the program has locked cannot be given back everywhere: those are zeroed.
void pool_memory::clear(std::uint32_t worker) const {
    std::byte* const begin = reinterpret_cast<std::byte*>(&area(worker));
    const std::uint64_t bytes = head().area_bytes;
    const bool is_clear = file_ < 0 ? madvise(begin, bytes, MADV_DONTNEED) == 0
                                    : fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                begin - start_, static_cast<off_t>(bytes)) == 0;
    if (!is_clear) std::memset(begin, 0, bytes);
}

}  // namespace selion::machine::workers
