// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/machine.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"

/// Memory that ranks share, on machines whose time is virtual: what real ones do with a load or a
/// store also spends what that costs there. Algorithms over shared memory use the functions below
/// for every word that others see and announce every range of bytes that others wrote or will read.
namespace selion::machine {

/// Null in contexts of real machines.
class simulated_memory {
public:
    virtual ~simulated_memory() = default;
    virtual std::uint64_t load(detail::rank_context& context, const detail::shared_word& word) = 0;
    virtual void store(detail::rank_context& context, detail::shared_word& word,
                       std::uint64_t value) = 0;
    /// @return the value before.
    virtual std::uint64_t add(detail::rank_context& context, detail::shared_word& word,
                              std::uint64_t amount) = 0;
    /// Spends the time of reading or writing a range.
    virtual void touch(detail::rank_context& context, const void* place, std::size_t bytes,
                       bool writes) = 0;
};

inline void word_store(detail::rank_context& context, detail::shared_word& word,
                       std::uint64_t value) {
    if (context.simulated != nullptr) [[unlikely]]
        return context.simulated->store(context, word, value);
    detail::word_store(context, word, value);
}

/// Adds without looking for sleepers on real machines: the caller does so once it matters. On
/// simulated ones there is nothing to spare, and waiting ranks have seen it.
inline std::uint64_t word_add_quietly(detail::rank_context& context, detail::shared_word& word,
                                      std::uint64_t amount) {
    if (context.simulated != nullptr) [[unlikely]]
        return context.simulated->add(context, word, amount);
    return detail::word_add_quietly(word, amount);
}

/// The calling rank reads what others may have written.
inline void announce_read(detail::rank_context& context, const void* place, std::size_t bytes) {
    if (context.simulated != nullptr) [[unlikely]]
        context.simulated->touch(context, place, bytes, false);
}

/// The calling rank writes what others will read.
inline void announce_write(detail::rank_context& context, const void* place, std::size_t bytes) {
    if (context.simulated != nullptr) [[unlikely]]
        context.simulated->touch(context, place, bytes, true);
}

/// The same before a put or a get of the calling rank to or from memory that it maps. Where ranks
/// share none, it takes no time, but happens in the order of time.
inline void announce_local_write(detail::rank_context& context, const void* place,
                                 std::size_t bytes) {
    if (!context.spends_time) [[likely]]
        return;
    announce_write(context, place, bytes);
    if (context.simulated == nullptr) context.clock->fall_in(context);
}
inline void announce_local_read(detail::rank_context& context, const void* place,
                                std::size_t bytes) {
    if (!context.spends_time) [[likely]]
        return;
    announce_read(context, place, bytes);
    if (context.simulated == nullptr) context.clock->fall_in(context);
}

}  // namespace selion::machine
