// SPDX-License-Identifier: Apache-2.0
#include "machine/node/binding.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "selion/machines.hpp"

namespace selion::machine::node {
namespace {

/// Keeps hwloc from loading its plugins while it lives: those for graphics cards take ten times as
/// long as all the rest, and say nothing about cores.
class plugins_off {
public:
    plugins_off() : was_set_(std::getenv(name) != nullptr) {
        if (!was_set_) setenv(name, "/nonexistent", 0);
    }
    ~plugins_off() {
        if (!was_set_) unsetenv(name);
    }
    plugins_off(const plugins_off&) = delete;
    plugins_off& operator=(const plugins_off&) = delete;

private:
    static constexpr const char* name = "HWLOC_PLUGINS_PATH";
    bool was_set_;
};

/// hwloc's view of cores and hardware threads only. Its x86 component would visit every processor
/// and take ten times longer; the kernel's files say the same.
class core_topology {
public:
    core_topology() {
        const plugins_off quick;
        hwloc_topology_init(&topology_);
        hwloc_topology_set_all_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_NONE);
        hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
        hwloc_topology_set_components(topology_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
        is_loaded_ = hwloc_topology_load(topology_) == 0;
    }
    ~core_topology() { hwloc_topology_destroy(topology_); }
    core_topology(const core_topology&) = delete;
    core_topology& operator=(const core_topology&) = delete;

    std::vector<int> first_allowed_processors() const {
        std::vector<int> processors;
        if (!is_loaded_) return processors;
        hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
        hwloc_bitmap_t both = hwloc_bitmap_alloc();
        if (hwloc_get_cpubind(topology_, allowed, HWLOC_CPUBIND_THREAD) != 0) {
            hwloc_bitmap_fill(allowed);
        }
        const int cores = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE);
        for (int i = 0; i < cores; ++i) {
            const hwloc_obj_t core =
                hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
            hwloc_bitmap_and(both, core->cpuset, allowed);
            const int first = hwloc_bitmap_first(both);
            if (first >= 0) processors.push_back(first);
        }
        hwloc_bitmap_free(both);
        hwloc_bitmap_free(allowed);
        return processors;
    }

private:
    hwloc_topology_t topology_ = nullptr;
    bool is_loaded_ = false;
};

/// A number in a file of the kernel; nothing where there is none.
std::optional<std::uint32_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::uint32_t number = 0;
    return file >> number ? std::optional(number) : std::nullopt;
}

/// Number of the last-level cache of a processor; the first-level ones are nobody else's.
std::uint32_t last_level_cache(const std::string& processor) {
    std::uint32_t found = 0;
    std::uint32_t highest = 1;
    for (int index = 0;; ++index) {
        const std::string cache = fmt::format("{}/cache/index{}/", processor, index);
        const auto level = number_in(cache + "level");
        if (!level) return found;
        if (*level <= highest) continue;
        highest = *level;
        found = number_in(cache + "id").value_or(0);
    }
}

/// Of the calling thread, in words of the kernel; empty: it does not say.
std::vector<unsigned long> own_mask() {
    constexpr std::size_t most_processors = 8192;
    std::vector<unsigned long> mask(most_processors / (8 * sizeof(unsigned long)));
    const auto bytes = mask.size() * sizeof(unsigned long);
    if (sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) return {};
    return mask;
}

bool set_own_mask(const std::vector<unsigned long>& mask) {
    const auto bytes = mask.size() * sizeof(unsigned long);
    return sched_setaffinity(0, bytes, reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
}

/// Empty: the thread has not been bound.
thread_local std::vector<unsigned long> mask_before_binding;

}  // namespace

/// From the kernel's files: ranks ask at the same time, and hwloc changes the environment.
processor_place place_of_processor(std::uint32_t processor) {
    const std::string files = fmt::format("/sys/devices/system/cpu/cpu{}", processor);
    return {last_level_cache(files),
            number_in(files + "/topology/physical_package_id").value_or(0)};
}

const std::vector<int>& processors_by_core() {
    // Loading takes milliseconds; and once threads are bound, the mask of one says nothing.
    // Never destroyed: jobs may begin while the program leaves.
    static const auto& processors =
        *new std::vector<int>(core_topology().first_allowed_processors());
    return processors;
}

std::vector<int> choose_binding(std::uint32_t carriers) {
    constexpr std::array<std::string_view, 3> words{"auto", "on", "off"};
    const std::size_t choice = base::knob_choice(base::knob::bind, words);
    if (choice == 2) return {};
    const std::vector<int>& cores = processors_by_core();
    if (cores.empty() || carriers > cores.size()) return {};
    const bool fills_the_host = carriers == cores.size() && carriers == usable_cores();
    if (choice == 0 && !fills_the_host) return {};
    return {cores.begin(), cores.begin() + carriers};
}

bool bind_thread(int processor) {
    std::vector<unsigned long> before = own_mask();
    std::vector<unsigned long> wanted(before.size());
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    const auto place = static_cast<std::size_t>(processor);
    if (place / bits >= wanted.size()) return false;
    wanted[place / bits] = 1ul << place % bits;
    if (!set_own_mask(wanted)) return false;
    if (mask_before_binding.empty()) mask_before_binding = std::move(before);
    return true;
}

unbound_scope::unbound_scope() {
    if (mask_before_binding.empty()) return;
    bound_ = own_mask();
    set_own_mask(mask_before_binding);
}

unbound_scope::~unbound_scope() {
    if (!bound_.empty()) set_own_mask(bound_);
}

}  // namespace selion::machine::node
