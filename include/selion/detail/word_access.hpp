// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/shared_word.hpp>
#include <selion/detail/slow_path.hpp>

/// Shared words that the caller maps. Whoever changes one may have to wake a sleeper; the protocol
/// and the reason why no wake-up is lost are in src/machine/node/waiting.md.
namespace selion::detail {

inline std::uint64_t word_load(const shared_word& word) noexcept {
    // acquire: what was written before the signal is visible; pairs with [word.signal]
    return std::atomic_ref(const_cast<std::uint64_t&>(word.value)).load(std::memory_order_acquire);
}

inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

/// Looks within which an answer comes from a processor of the same cache.
inline constexpr std::uint32_t near_looks = 24;
/// Between two looks at what another processor writes. An answer takes two transfers of a line, so
/// what the first look has not found needs longer than two pauses; the fewer looks there are until
/// it comes, the more often the processor guesses which one finds it, and goes ahead. Later a pause
/// makes a near answer late. Without anything a processor reads ahead, which it has to take back
/// when the line changes. What has not come by then comes from afar, and every look at its line
/// keeps it on its way for longer.
inline void rest_after_look(std::uint32_t look) noexcept {
    if (look == 0) pause_processor();
    if (look == 0 || look >= near_looks) return pause_processor();
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#endif
}

/// Looks at a word for a microsecond or two: answers that are on their way already are taken
/// without the cost of waiting properly. @return whether it is at least `at_least`.
inline bool word_arrives_soon(const rank_context& context, const shared_word& word,
                              std::uint64_t at_least) noexcept {
    if (word_load(word) >= at_least) return true;
    for (std::uint32_t look = 0; look < context.brief_looks; ++look) {
        pause_processor();
        if (word_load(word) >= at_least) return true;
    }
    return context.brief_yields != 0 && word_arrives_between_yields(context, word, at_least);
}

/// Whether anybody of the job who may wait for any word sleeps, or is about to. Not by the word's
/// own mark: its line is on its way to the waiting core, and asking for it again would delay the
/// signal by half.
inline bool sees_sleepers(const rank_context& context) noexcept {
    const std::uint64_t all = std::atomic_ref(*context.sleepers).load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(all) != 0;
}

/// The same, and those who wait for mail alone.
inline bool sees_listeners(const rank_context& context) noexcept {
    return std::atomic_ref(*context.sleepers).load(std::memory_order_relaxed) != 0;
}

/// What stands between a signalling store and the look for sleepers.
inline void fence_signal(const rank_context& context) noexcept {
    if (context.fence_signals) {
        // seq_cst: value before mark, where sleepers cannot force it; pairs with [word.sleep]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
        // The sleeper's process-wide barrier orders the two for us; only the compiler must not
        // exchange them. seq_cst: pairs with [word.sleep]
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

/// Whether there are sleepers after a signalling store.
inline bool has_sleepers(const rank_context& context) noexcept {
    fence_signal(context);
    return sees_sleepers(context);
}

/// The same after an addition, which some processors carry out in one instruction that is a fence.
inline bool has_sleepers_after_addition(const rank_context& context) noexcept {
#if defined(__x86_64__)
    // seq_cst: only the compiler must not exchange the two; pairs with [word.sleep]
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return sees_sleepers(context);
#else
    return has_sleepers(context);
#endif
}

/// Second half of a signalling store: looks for sleepers after the value is on its way.
inline void word_changed(rank_context& context, shared_word& word) {
    if (has_sleepers(context)) [[unlikely]]
        wake_sleepers(context, word);
}

/// The same for the word that tells a rank of mail.
inline void mail_arrived(rank_context& context, shared_word& word) {
    fence_signal(context);
    if (sees_listeners(context)) [[unlikely]]
        wake_sleepers(context, word);
}

/// Sets the word. Only one rank may store to a word at a time.
inline void word_store(rank_context& context, shared_word& word, std::uint64_t value) {
    // release: publishes all earlier writes of this rank [word.signal]
    std::atomic_ref(word.value).store(value, std::memory_order_release);
    word_changed(context, word);
}

/// Adds to the word. @return its value before.
inline std::uint64_t word_add(rank_context& context, shared_word& word, std::uint64_t amount) {
    // acq_rel: publishes this rank's writes and joins those of earlier adders [word.signal]
    const std::uint64_t before =
        std::atomic_ref(word.value).fetch_add(amount, std::memory_order_acq_rel);
    word_changed(context, word);
    return before;
}

/// Adds without looking for sleepers, for a caller that does so itself if it matters.
inline std::uint64_t word_add_quietly(shared_word& word, std::uint64_t amount) noexcept {
    // acq_rel: as in word_add [word.signal]
    return std::atomic_ref(word.value).fetch_add(amount, std::memory_order_acq_rel);
}

/// Changes a signal or a counter of the program's. Its owner may do away with it as soon as he sees
/// the value, so it is not looked at after that. @param bits its global address @return its value
inline std::uint64_t raise_word(rank_context& context, std::uint64_t bits, shared_word& word,
                                signal_update update) {
    std::uint64_t value = update.amount;
    if (update.adds) {
        value += word_add_quietly(word, update.amount);
    } else {
        // release: as in word_store [word.signal]
        std::atomic_ref(word.value).store(value, std::memory_order_release);
    }
    if (has_sleepers(context)) [[unlikely]] {
        wake_owner(context, word, rank_of(bits));
    }
    return value;
}

}  // namespace selion::detail
