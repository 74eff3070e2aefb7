// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/counter.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/slow_path.hpp>
#include <selion/detail/word_access.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>
#include <selion/world.hpp>

/// Puts and gets that are started here and counted when they are done. Where the target is mapped
/// they are done, and have counted, on return.
namespace selion {

namespace detail {

/// Adds one to a counter that lies in the global address space.
/// @pre it is mapped.
inline void count_there(rank_context& context, std::uint64_t target) {
    if (target == null_address) return;
    std::byte* const address = local_address(context, target);
    raise_word(context, target, counter_access::word(*reinterpret_cast<counter*>(address)),
               {1, true});
}

/// A put between addresses of this process.
inline void put_here(rank_context& context, std::byte* address, const put_request& what,
                     std::source_location site) {
    if (what.bytes != 0) std::memcpy(address, what.source, what.bytes);
    count_there(context, what.signal);
    count_here(context, what.origin, site);
    count_here(context, what.completion, site);
}

inline void get_here(rank_context& context, const std::byte* address, const get_request& what,
                     std::source_location site) {
    if (what.bytes != 0) std::memcpy(what.target, address, what.bytes);
    count_there(context, what.signal);
    count_here(context, what.origin, site);
    count_here(context, what.completion, site);
}

inline bool is_of_rank_of(std::uint64_t left, std::uint64_t right) {
    return (left ^ right) >> offset_bits == 0;
}

}  // namespace detail

/// Starts to write a span to consecutive places. With an origin counter its elements must stay as
/// they are until that has counted; without one they may be reused on return. A span of zero
/// elements counts all the same. Order as for the blocking put.
/// @pre `when.target`, if any, belongs to the rank that owns `target`.
/// @cost a memcpy where the target is mapped; else one message. Allocates nothing.
template <class T>
inline void put(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                const counters& when, std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    const detail::put_request what{target.bits(),      source.data(), source.size_bytes(),
                                   when.target.bits(), {1, true},     when.origin,
                                   when.completion};
    detail::check_access(target.bits(), source.size_bytes(), alignof(T), site,
                         detail::access_purpose::write);
    detail::rank_context& context = *detail::current_context;
    std::byte* const address = detail::local_address(context, target.bits());
    const bool is_plain = !when.target || (detail::is_of_rank_of(target.bits(), what.signal) &&
                                           !context.own.announces_writes);
    if (address != nullptr && is_plain) [[likely]] {
        return detail::put_here(context, address, what, site);
    }
    detail::start_put(what, site);
}

/// Starts to write one value, which is copied: the origin counter counts at once.
template <class T>
inline void put(global_ptr<T> target, const std::type_identity_t<T>& value, const counters& when,
                std::source_location site = std::source_location::current()) {
    const T copy = value;
    counters later = when;
    later.origin = nullptr;
    selion::put(target, std::span<const T>(&copy, 1), later, site);
    detail::count_here(*detail::current_context, when.origin, site);
}

/// Starts to read consecutive elements into a span of the caller's memory, which is filled when the
/// origin counter or the completion counter (they count together) has counted; the target counter
/// counts when the source has been read. Until then it may be read at any time, also after puts
/// that the caller makes later.
/// @pre `when.target`, if any, belongs to the rank that owns `source`.
template <class T>
inline void get(std::span<std::remove_const_t<T>> target, global_ptr<T> source,
                const counters& when, std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    const detail::get_request what{target.data(),      source.bits(), target.size_bytes(),
                                   when.target.bits(), when.origin,   when.completion};
    detail::check_access(source.bits(), target.size_bytes(), alignof(T), site);
    detail::rank_context& context = *detail::current_context;
    const std::byte* const address = detail::local_address(context, source.bits());
    const bool is_plain = !when.target || detail::is_of_rank_of(source.bits(), what.signal);
    if (address != nullptr && is_plain) [[likely]] {
        return detail::get_here(context, address, what, site);
    }
    detail::start_get(what, site);
}

/// As above, with a completion counter alone.
template <class T>
inline void put(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                counter& completion, std::source_location site = std::source_location::current()) {
    selion::put(target, source, counters{.completion = &completion}, site);
}
template <class T>
inline void put(global_ptr<T> target, const std::type_identity_t<T>& value, counter& completion,
                std::source_location site = std::source_location::current()) {
    selion::put(target, value, counters{.completion = &completion}, site);
}
template <class T>
inline void get(std::span<std::remove_const_t<T>> target, global_ptr<T> source, counter& completion,
                std::source_location site = std::source_location::current()) {
    selion::get(target, source, counters{.completion = &completion}, site);
}

/// Completes: on return all earlier operations of this rank on one rank's memory are visible to
/// every rank. @cost less than `quiet()` where only few targets matter: nothing, or one message
/// each way.
inline void quiet(rank_id target, std::source_location site = std::source_location::current()) {
    detail::quiet_target_slow(target, site);
}

namespace detail {
SELION_API void store_bytes(std::uint64_t target, const void* source, std::size_t bytes,
                            std::source_location site);
SELION_API void store_sync(std::uint64_t bytes, std::source_location site);
}  // namespace detail

/// Split-C's one-way store: writes, and adds the number of bytes to what its target has received.
/// The source may be reused on return. Who wants to know whether it has arrived asks at the target
/// (`store_sync`), or all ranks ask together (`all_store_sync`).
template <class T>
inline void store(global_ptr<T> target, const std::type_identity_t<T>& value,
                  std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::store moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::store needs a pointer to mutable elements");
    const T copy = value;
    detail::store_bytes(target.bits(), &copy, sizeof(T), site);
}
template <class T>
inline void store(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                  std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::store moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::store needs a pointer to mutable elements");
    detail::store_bytes(target.bits(), source.data(), source.size_bytes(), site);
}

/// Waits until stores of `bytes` more bytes have come to the calling rank, whoever sent them.
inline void store_sync(std::uint64_t bytes,
                       std::source_location site = std::source_location::current()) {
    detail::store_sync(bytes, site);
}

/// Collective: waits until all stores of all ranks have arrived. Does not change what `store_sync`
/// counts.
inline void all_store_sync(const world& all,
                           std::source_location site = std::source_location::current()) {
    all.barrier(site);
}

}  // namespace selion
