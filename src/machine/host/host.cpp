// SPDX-License-Identifier: Apache-2.0
#include "machine/host/host.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "machine/host/control_group.hpp"
#include "selion/detail/hash.hpp"

namespace selion::machine {

#if defined(__x86_64__)

/// As the processor calls itself. A hypervisor may hide which one that is, but programs choose
/// their instructions by the numbers, so it lets those through.
std::string processor_name() {
    std::array<unsigned, 12> words{};
    for (unsigned i = 0; i < 3; ++i) {
        unsigned* const part = &words[4 * i];
        __get_cpuid(0x80000002 + i, &part[0], &part[1], &part[2], &part[3]);
    }
    const std::string_view text(reinterpret_cast<const char*>(words.data()), sizeof(words));
    unsigned signature = 0;
    unsigned unused = 0;
    __get_cpuid(1, &signature, &unused, &unused, &unused);
    const unsigned base_family = signature >> 8 & 0xf;
    const unsigned family = base_family + (base_family == 15 ? signature >> 20 & 0xff : 0);
    const unsigned model =
        (signature >> 4 & 0xf) + (family == 6 || family >= 15 ? signature >> 12 & 0xf0 : 0);
    return fmt::format("{}, family {}, model {}, stepping {}", text.substr(0, text.find('\0')),
                       family, model, signature & 0xf);
}

#else

/// What the first processor says of itself: the thread may be on another kind of core.
std::string processor_name() {
    std::string name;
    std::ifstream("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1") >> name;
    return name;
}

#endif

namespace {

/// Of the calling thread; every processor where there are more than a set of the usual size holds.
unsigned usable_processors() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable) == 0) {
        return static_cast<unsigned>(CPU_COUNT(&usable));
    }
    return static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string fingerprint_of(unsigned processors) {
    utsname system{};
    uname(&system);
    const std::string text = fmt::format("{} {} {}", system.machine, processor_name(), processors);
    return fmt::format("{:016x}", detail::text_hash(text));
}

}  // namespace

std::uint64_t memory_limit_bytes() {
    const std::uint64_t all = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
    const auto limit = control_groups().lowest("memory", "memory.max", "memory.limit_in_bytes");
    return std::min(all, limit.value_or(all));
}

std::uint64_t easy_address_bytes() {
    std::uint64_t least = UINT64_MAX;
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE}) {
        rlimit limit{};
        const bool is_limited = getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
        if (is_limited) least = std::min<std::uint64_t>(least, limit.rlim_cur / 2);
    }
    return least;
}

std::string mapping_limits() {
    const auto is_limited = [](auto which) {
        rlimit limit{};
        return getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    };
    const bool of_addresses = is_limited(RLIMIT_AS);
    const bool of_data = is_limited(RLIMIT_DATA);
    if (of_addresses && of_data) return "`ulimit -v` and `ulimit -d`";
    return of_addresses ? "`ulimit -v`" : of_data ? "`ulimit -d`" : "";
}

std::uint64_t stack_guard_bytes() {
    constexpr std::uint64_t where_addresses_are_few = std::uint64_t{256} << 10;
    static const bool are_few = easy_address_bytes() != UINT64_MAX;
    return are_few ? where_addresses_are_few : largest_frame_bytes;
}

std::int64_t host_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

std::string host_fingerprint() { return fingerprint_of(usable_processors()); }

std::string whole_host_fingerprint() {
    return fingerprint_of(static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)));
}

bool is_handled_by(int number, void (*handler)(int)) {
    struct sigaction now {};
    return sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
           now.sa_handler == handler;
}

}  // namespace selion::machine
