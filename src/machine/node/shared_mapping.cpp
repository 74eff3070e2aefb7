// SPDX-License-Identifier: Apache-2.0
#include "machine/node/shared_mapping.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.hpp"
#include "machine/host/host.hpp"
#include "machine/host/memory_file.hpp"
#include "machine/process/failure.hpp"

namespace selion::machine::node {
namespace {

/// Address space for all ranks together when nobody says how much: far below what an x86-64 process
/// has, and small under sanitizers, whose shadow memory leaves less.
constexpr std::uint64_t default_total_reserve = is_sanitized() ? 1ull << 38 : 1ull << 44;
constexpr std::uint64_t smallest_reserve = 1ull << 20;
/// The mapping and its first slice start at a multiple of this, so that huge pages come out.
constexpr std::uint64_t slice_alignment = 1ull << 21;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// The distance of two ranks is an odd number of pages: equal offsets of many ranks, which
/// collectives touch one after another, then spread over the sets of the caches.
control_block lay_out(const mapping_plan& plan) {
    const std::uint32_t ranks = plan.shape.ranks();
    const std::uint64_t wanted =
        plan.heap_bytes != 0 ? plan.heap_bytes
                             : default_reserve(ranks, memory_limit_bytes(), easy_address_bytes());
    control_block control{};
    control.magic = control_magic;
    control.ranks = ranks;
    control.bells = plan.bells().count();
    control.reserve_bytes = round_up(std::max(wanted, smallest_reserve), page_bytes());
    control.stride_bytes = round_up(control.reserve_bytes, 2 * page_bytes()) + page_bytes();
    control.records_offset = round_up(sizeof(control_block), detail::line_bytes);
    const std::uint64_t records_bytes = ranks * sizeof(call_record);
    control.beside_offset = plan.has_notifier ? control.records_offset + records_bytes : 0;
    control.processes_offset = control.records_offset + (plan.has_notifier ? 2 : 1) * records_bytes;
    control.bells_offset = control.processes_offset + plan.shape.processes * sizeof(process_record);
    control.mail_offset =
        round_up(control.bells_offset + control.bells * sizeof(doorbell), page_bytes());
    control.pool_bytes = round_up(plan.message_bytes / 2, page_bytes());
    const std::uint32_t carriers = plan.shape.carriers();
    control.mail_rings = carriers <= most_single_senders ? carriers : 1;
    control.mail_stride_bytes = round_up(
        sizeof(mail_area) + 2 * (control.mail_rings * sizeof(message_ring) + control.pool_bytes),
        page_bytes());
    control.slices_offset =
        round_up(control.mail_offset + carriers * control.mail_stride_bytes, slice_alignment);
    control.total_bytes = control.slices_offset + ranks * control.stride_bytes;
    control.memory_limit = memory_limit_bytes();
    control.begun_at_ns = host_time_ns();
    control.fence_signals = plan.fence_signals ? 1 : 0;
    control.has_notifier = plan.has_notifier ? 1 : 0;
    control.processors = plan.processors;
    control.have_cores = plan.have_cores ? 1 : 0;
    return control;
}

error failure(std::string_view what, const control_block& control) {
    const int code = errno;
    // Of the file that is mapped, of what the program keeps in place by mlockall, or of all memory.
    std::string limits = code == EFBIG    ? "`ulimit -f`"
                         : code == EAGAIN ? "`ulimit -l`, or do without mlockall"
                                          : mapping_limits();
    if (limits.empty()) limits = "`ulimit -v`";
    const std::uint64_t for_messages = control.slices_offset - control.mail_offset;
    const bool are_messages_more = for_messages > control.total_bytes - for_messages;
    const std::string whose =
        are_messages_more
            ? fmt::format(", of which messages under way have {}", base::bytes_text(for_messages))
            : fmt::format(" for {} ranks of {} each", control.ranks,
                          base::bytes_text(control.reserve_bytes));
    return {status::out_of_memory,
            fmt::format("cannot {} {} of address space{} ({}); set {} to a smaller size, or raise "
                        "{}",
                        what, base::bytes_text(control.total_bytes), whose, std::strerror(code),
                        are_messages_more ? "SELION_MESSAGE_MEMORY" : "SELION_HEAP", limits)};
}

std::byte* map(std::uint64_t bytes, int file) {
    void* range = mmap(nullptr, bytes + slice_alignment, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return nullptr;
    const auto low = reinterpret_cast<std::uint64_t>(range);
    const std::uint64_t start = round_up(low, slice_alignment);
    if (start != low) munmap(range, start - low);
    const std::uint64_t tail = low + slice_alignment - start;
    if (tail != 0) munmap(reinterpret_cast<void*>(start + bytes), tail);
    const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    // Opened later: what a program keeps in place (mlockall) would be all of it, and one mapping in
    // the place of another gets past `ulimit -d`, which all later ones then meet.
    void* mapped = mmap(reinterpret_cast<void*>(start), bytes, PROT_NONE,
                        flags | MAP_NORESERVE | MAP_FIXED, file, 0);
    if (mapped != MAP_FAILED) munlock(mapped, bytes);
    if (mapped == MAP_FAILED || mprotect(mapped, bytes, PROT_READ | PROT_WRITE) != 0) {
        const int why = errno;
        munmap(reinterpret_cast<void*>(start), bytes);
        errno = why;
        return nullptr;
    }
    // A core dump would walk the whole reserve page by page.
    madvise(mapped, bytes, MADV_DONTDUMP);
    return static_cast<std::byte*>(mapped);
}

}  // namespace

std::uint64_t default_reserve(std::uint32_t ranks, std::uint64_t memory_bytes,
                              std::uint64_t address_bytes) {
    const std::uint64_t share =
        std::bit_floor(std::min(default_total_reserve, address_bytes) / ranks);
    const std::uint64_t most = std::min(share, detail::offset_mask + 1);
    return std::clamp(std::bit_ceil(memory_bytes), smallest_reserve,
                      std::max(most, smallest_reserve));
}

result<std::uint64_t> shared_mapping::reserve_of(const mapping_plan& plan) {
    const std::uint64_t bytes = lay_out(plan).reserve_bytes;
    if (bytes <= detail::offset_mask + 1) return bytes;
    return error(
        status::bad_argument,
        fmt::format("SELION_HEAP asks for {} per rank; an address reaches {}",
                    base::bytes_text(bytes), base::bytes_text(1ull << detail::offset_bits)));
}

result<shared_mapping> shared_mapping::create(const mapping_plan& plan) {
    int file = -1;
    if (plan.is_shared) {
        file = make_memory_file("selion");
        if (file < 0 && (errno == EMFILE || errno == ENFILE)) return cannot_open("its memory");
        if (file < 0 && (errno == ENOSYS || errno == EPERM)) {
            return error(status::system_failure, std::string(no_memory_files));
        }
        if (file < 0) {
            const int why = errno;
            const control_block control = lay_out(plan);  // which reads files, too
            errno = why;
            return failure("make a memory file of", control);
        }
    }
    result<shared_mapping> made = create_in(file, plan);
    if (!made) {
        if (file >= 0) close(file);
        return made;
    }
    if (file >= 0 && !seal_memory_file(file)) {
        return failure("seal a memory file of", made.value().control());
    }
    return made;
}

result<shared_mapping> shared_mapping::create_in(int file, const mapping_plan& plan) {
    const result<std::uint64_t> reserve = reserve_of(plan);
    if (!reserve) return reserve.trouble();
    const control_block control = lay_out(plan);
    if (file >= 0 && set_memory_bytes(file, control.total_bytes) != 0) {
        return failure("make a memory file of", control);
    }
    std::byte* start = map(control.total_bytes, file);
    if (start == nullptr) return failure("map", control);
    std::memcpy(start, &control, sizeof control);
    return shared_mapping(start, control.total_bytes, file, file >= 0);
}

result<shared_mapping> shared_mapping::attach(int file) {
    control_block control{};
    if (pread(file, &control, sizeof control, 0) != ssize_t{sizeof control} ||
        control.magic != control_magic) {
        return error(
            status::system_failure,
            "this process was started as part of a job whose memory is gone: start the program "
            "without SELION_JOB_* variables; or it has closed the file of that memory before run, "
            "which cannot be opened again (/proc): leave open what the program has not opened");
    }
    std::byte* start = map(control.total_bytes, file);
    if (start == nullptr) return failure("map", control);
    return shared_mapping(start, control.total_bytes, file, true);
}

shared_mapping::shared_mapping(shared_mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      bytes_(other.bytes_),
      file_(std::exchange(other.file_, -1)),
      is_shared_(other.is_shared_) {}

shared_mapping::~shared_mapping() {
    if (start_ != nullptr) munmap(start_, bytes_);
    close_file();
}

void shared_mapping::close_file() {
    if (file_ >= 0) close(std::exchange(file_, -1));
}

call_record& shared_mapping::record(std::uint32_t rank) const {
    return reinterpret_cast<call_record*>(start_ + control().records_offset)[rank];
}

call_record* shared_mapping::record_beside(std::uint32_t rank) const {
    if (control().beside_offset == 0) return nullptr;
    return reinterpret_cast<call_record*>(start_ + control().beside_offset) + rank;
}

process_record& shared_mapping::process(std::uint32_t index) const {
    return reinterpret_cast<process_record*>(start_ + control().processes_offset)[index];
}

mailbox shared_mapping::mail(std::uint32_t carrier) const {
    const control_block& all = control();
    auto* const area =
        reinterpret_cast<mail_area*>(start_ + all.mail_offset + carrier * all.mail_stride_bytes);
    auto* const rings = reinterpret_cast<message_ring*>(area + 1);
    auto* const bytes = reinterpret_cast<std::byte*>(rings + 2 * all.mail_rings);
    return {.area = area,
            .replies = {rings, all.mail_rings},
            .requests = {rings + all.mail_rings, all.mail_rings},
            .request_bytes = bytes,
            .reply_bytes = bytes + all.pool_bytes};
}

bool shared_mapping::has_one_thread_each() const {
    const auto level = static_cast<selion::thread_level>(control().thread_level);
    return level == selion::thread_level::single && control().has_notifier == 0;
}

doorbell& shared_mapping::bell(std::uint32_t index) const {
    return reinterpret_cast<doorbell*>(start_ + control().bells_offset)[index];
}

std::byte* shared_mapping::slice(std::uint32_t rank) const {
    return start_ + control().slices_offset + rank * control().stride_bytes;
}

}  // namespace selion::machine::node
