// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <selion/detail/atomic_request.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>

namespace selion {
class counter;
}

/// What the inline operations call when the target is not mapped, when operations are recorded, or
/// when a rank has to wait. All of them check their arguments.
namespace selion::detail {

/// How a signal changes: see `signal_set` and `signal_add`.
struct signal_update {
    std::uint64_t amount;
    bool adds;
};

/// What a DMA engine has to do before it moves a put's data.
enum class dma_stage : std::uint8_t {
    none,        ///< it has no part in it: the processor puts
    set_up,      ///< the first block of a chain
    next_block,  ///< a further one
    next_row,    ///< of the same block
};

/// A put, the signal or target counter that announces it, and the origin's own counters.
struct put_request {
    std::uint64_t target;
    const void* source;
    std::size_t bytes;
    std::uint64_t signal = null_address;  ///< of the target's rank; null_address: none
    signal_update update = {0, false};
    counter* origin = nullptr;
    counter* completion = nullptr;
    dma_stage stage = dma_stage::none;
    std::uint8_t store_bytes = 0;  ///< of one store, where the processor puts element by element;
                                   ///< 0: as is best
    bool is_fleeting = false;      ///< `quiet` need not wait for it: its target waits for it before
                                   ///< anybody could miss it
    bool is_patient = false;       ///< nobody waits for its signal soon: it may leave with what is
                                   ///< sent next, or when its rank waits
    bool waits_alone = false;      ///< where its target must not be disturbed yet, it waits by
                                   ///< itself and its rank goes on
};

/// A get. Its origin counter and its completion counter count at the same moment.
struct get_request {
    void* target;
    std::uint64_t source;
    std::size_t bytes;
    std::uint64_t signal = null_address;  ///< target counter: the source has been read
    counter* origin = nullptr;
    counter* completion = nullptr;
    bool is_told_later = false;  ///< the signal of a later one says that this one's source has been
                                 ///< read as well
};

SELION_API void put_slow(std::uint64_t target, const void* source, std::size_t bytes,
                         std::source_location site);
SELION_API void get_slow(void* target, std::uint64_t source, std::size_t bytes,
                         std::source_location site);
/// Start an operation; they count when it is as far.
SELION_API void start_put(const put_request& request, std::source_location site);
SELION_API void start_get(const get_request& request, std::source_location site);
SELION_API void signal_slow(std::uint64_t signal, signal_update update, std::source_location site);
SELION_API void put_signal_slow(const put_request& request, std::source_location site);
SELION_API void quiet_slow(std::source_location site);
SELION_API void quiet_target_slow(std::uint32_t target, std::source_location site);

/// What is to be done before what the caller has written is announced to others: by floors above
/// that keep writes back.
SELION_API void release_writes_slow(std::source_location site);

/// What becomes of the bytes that an operation accesses.
enum class access_purpose : std::uint8_t { read, write };
constexpr access_purpose purpose_of(atomic_operation what) noexcept {
    return what == atomic_operation::load ? access_purpose::read : access_purpose::write;
}

/// Ends the job unless `bytes` bytes at `target` lie in the address space and `target` is aligned.
SELION_API void expect_range(std::uint64_t target, std::size_t bytes, std::size_t alignment,
                             std::source_location site,
                             access_purpose purpose = access_purpose::read);

/// Looks at a word `brief_yields` times and lets other threads run in between: where ranks are more
/// than cores, the way to wait touches more memory than a rank's turn is worth. Fewer times where
/// turns are long in coming back.
SELION_API bool word_arrives_between_yields(const rank_context& context, const shared_word& word,
                                            std::uint64_t at_least) noexcept;

/// Wakes whoever sleeps on the word. Called after a signalling store while somebody sleeps.
SELION_API void wake_sleepers(rank_context& context, shared_word& word);
SELION_API void wake_owner(rank_context& context, shared_word& word, std::uint32_t owner);

}  // namespace selion::detail
