// SPDX-License-Identifier: Apache-2.0
#include "machine/host/processor_counter.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "machine/host/host.hpp"

namespace selion::machine {
namespace {

constexpr std::array<processor_event, 5> all_events{{
    {"cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_misses", "misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"page_faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", "switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
}};

/// A counter of the kernel, read without a system call where the processor lets us.
class kernel_counter final : public processor_counter {
public:
    explicit kernel_counter(int file) : file_(file) {
        void* const page = mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, file, 0);
        if (page != MAP_FAILED) page_ = static_cast<perf_event_mmap_page*>(page);
    }
    ~kernel_counter() override {
        if (page_ != nullptr) munmap(page_, page_bytes());
        close(file_);
    }
    kernel_counter(const kernel_counter&) = delete;
    kernel_counter& operator=(const kernel_counter&) = delete;

    std::int64_t read() override {
        std::int64_t value = 0;
        if (read_directly(value)) return value;
        return ::read(file_, &value, sizeof(value)) == sizeof(value) ? value : 0;
    }

private:
    bool read_directly(std::int64_t& value) const;

    int file_;
    perf_event_mmap_page* page_ = nullptr;
};

/// As perf_event_open(2) says: the kernel changes `lock` before and after it changes the rest, in
/// this very thread, so the compiler alone must keep the order.
bool kernel_counter::read_directly([[maybe_unused]] std::int64_t& value) const {
#if defined(__x86_64__)
    if (page_ == nullptr) return false;
    std::uint32_t before = 0;
    do {
        before = page_->lock;
        // seq_cst, for the compiler alone: the rest after `lock`; pairs with [perf.after]
        std::atomic_signal_fence(std::memory_order_seq_cst);  // [perf.before]
        if (page_->cap_user_rdpmc == 0 || page_->index == 0) return false;
        const unsigned unused_bits = 64U - page_->pmc_width;
        const auto counted =
            static_cast<std::uint64_t>(__rdpmc(static_cast<int>(page_->index - 1)));
        const auto in_range = static_cast<std::int64_t>(counted << unused_bits) >> unused_bits;
        value = page_->offset + in_range;
        // seq_cst, likewise: the rest before `lock` again; pairs with [perf.before]
        std::atomic_signal_fence(std::memory_order_seq_cst);  // [perf.after]
    } while (page_->lock != before);
    return true;
#else
    return false;
#endif
}

std::string_view reason_of(int problem) {
    switch (problem) {
        case ENOENT:
        case EOPNOTSUPP:
        case ENODEV: return "this processor, or the virtual machine, has no such counter";
        case EACCES:
        case EPERM:
            return "the kernel does not permit it (see /proc/sys/kernel/perf_event_paranoid)";
        case ENOSYS: return "this kernel counts no events";
        default: return std::strerror(problem);
    }
}

}  // namespace

std::span<const processor_event> processor_events() { return all_events; }

result<std::unique_ptr<processor_counter>> make_processor_counter(const processor_event& what) {
    perf_event_attr wanted{};
    wanted.size = sizeof(wanted);
    wanted.type = what.type;
    wanted.config = what.config;
    // A switch to another thread is the kernel's own doing; all else counts in user mode.
    wanted.exclude_kernel =
        what.type == PERF_TYPE_HARDWARE || what.config != PERF_COUNT_SW_CONTEXT_SWITCHES;
    wanted.exclude_hv = 1;
    constexpr int this_thread = 0;
    constexpr int any_processor = -1;
    constexpr int no_group = -1;
    const long file = syscall(SYS_perf_event_open, &wanted, this_thread, any_processor, no_group,
                              PERF_FLAG_FD_CLOEXEC);
    if (file < 0) {
        return error(status::not_available, std::string(reason_of(errno)));
    }
    return std::unique_ptr<processor_counter>(new kernel_counter(static_cast<int>(file)));
}

}  // namespace selion::machine
