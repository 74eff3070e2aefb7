// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <vector>

#include <selion/atomics.hpp>
#include <selion/global_ptr.hpp>
#include <selion/memory.hpp>
#include <selion/world.hpp>

/// How ranks learn where others keep their data.
namespace selion {

/// The global address of a place in memory of the global address space that the caller's process
/// maps; null if it is none.
template <class T>
[[nodiscard]] global_ptr<T> to_global(T* place) noexcept {
    const detail::rank_context& context = *detail::current_context;
    const auto distance = reinterpret_cast<std::uintptr_t>(place) -
                          reinterpret_cast<std::uintptr_t>(context.mapped_base());
    if (context.mapped_count == 0) return {};
    const std::uint64_t index = distance / context.stride_bytes();
    const std::uint64_t offset = distance % context.stride_bytes();
    if (index >= context.mapped_count || offset >= context.reserve_bytes) return {};
    return global_ptr<T>(rank_id(context.first_mapped() + index), offset);
}

namespace detail {
/// A directory has that slot.
SELION_API void expect_slot(std::size_t slot, std::size_t slots, std::source_location site);
}  // namespace detail

/// A table of addresses in each rank's memory, which others read when they like.
template <class T>
class address_directory {
public:
    /// Collective.
    /// @param slots of each rank.
    explicit address_directory(const world& all, std::size_t slots = 1,
                               std::source_location site = std::source_location::current())
        : all_(&all),
          slots_(slots),
          cells_(allocate<std::uint64_t>(all, slots, alignof(std::uint64_t), site)),
          site_(site) {}
    /// Collective; but unwound by an exception it waits for nobody and gives nothing back, since
    /// the others may not come to its end.
    ~address_directory() {
        if (std::uncaught_exceptions() <= exceptions_) deallocate(*all_, cells_, site_);
    }
    address_directory(const address_directory&) = delete;
    address_directory& operator=(const address_directory&) = delete;

    /// Lets others find an address under a slot of the caller; null takes it back.
    void publish(global_ptr<T> address, std::size_t slot = 0,
                 std::source_location site = std::source_location::current()) {
        atomic_put(cell(slot, site), address.bits(), site);
    }
    /// @return what the rank has published, or null. @cost one atomic read.
    [[nodiscard]] global_ptr<T> look_up(
        rank_id rank, std::size_t slot = 0,
        std::source_location site = std::source_location::current()) const {
        return global_ptr<T>(atomic_get(cell(slot, site).on(rank), site));
    }

private:
    global_ptr<std::uint64_t> cell(std::size_t slot, std::source_location site) const {
        if constexpr (SELION_CHECK_LEVEL >= 1) detail::expect_slot(slot, slots_, site);
        return cells_ + static_cast<std::ptrdiff_t>(slot);
    }

    const world* all_;
    std::size_t slots_;
    global_ptr<std::uint64_t> cells_;
    std::source_location site_;
    int exceptions_ = std::uncaught_exceptions();
};

/// Collective: every rank gets the address that each rank has passed, by rank.
template <class T>
[[nodiscard]] std::vector<global_ptr<T>> exchange_addresses(
    const world& all, global_ptr<T> own,
    std::source_location site = std::source_location::current()) {
    return all.all_gather(own, site);
}

}  // namespace selion
