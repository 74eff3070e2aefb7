// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// How a thread sleeps until a shared word changes, and how whoever changes the word wakes it. The
/// steps stand here once, over an `Access` that supplies the atomics: std's in the library, those
/// of a model checker in tests/model. Why no wake-up is lost: waiting.md.
namespace selion::machine::sleep_protocol {

inline constexpr std::uint32_t nobody = 0;
inline constexpr std::uint32_t many = ~std::uint32_t{0};
/// What a bell's owner sleeps on: more than one word, or one that has no name.
inline constexpr std::uint32_t any_word = 1;

/// Sleeper, steps 1 and 2: says that it may sleep. @param on name of the only word that it waits
/// for, or `any_word`. @return the bell's count to sleep on.
template <class Access, class Bell>
std::uint32_t announce(Access& access, Bell& bell, std::uint32_t on = any_word) {
    access.change_sleepers(1);
    access.set_sleeping(bell, on);
    return access.bell_count(bell);
}

/// Sleeper, step 3, for each word that it waits on. @param self doorbell number + 1.
template <class Access, class Word>
void mark(Access& access, Word& word, std::uint32_t self) {
    std::uint32_t seen = access.mark_of(word);
    while (seen != self && seen != many) {
        const std::uint32_t wanted = seen == nobody ? self : many;
        if (access.replace_mark(word, seen, wanted)) return;
    }
}

/// Sleeper, steps 4 to 6. @param must_stay_awake looks at the words again.
/// @return false when it did not sleep because something had arrived.
template <class Access, class Bell, class Look>
bool sleep_unless(Access& access, Bell& bell, std::uint32_t count, Look must_stay_awake) {
    access.heavy_fence();
    const bool sleeps = !must_stay_awake();
    if (sleeps) access.sleep_while_count_is(bell, count);
    access.set_sleeping(bell, 0);
    access.change_sleepers(-1);
    return sleeps;
}

/// Signaller, steps 4 and 5, once it has seen after the light fence that somebody of the job
/// sleeps: takes the word's mark away and rings.
/// @param ring called with a doorbell's number + 1, or with `many`.
template <class Access, class Word, class Ring>
void wake(Access& access, Word& word, Ring ring) {
    if (access.mark_of(word) == nobody) return;
    const std::uint32_t who = access.take_mark(word);
    if (who != nobody) ring(who);
}

/// Signaller: rings one bell. @return whether a system call was needed.
template <class Access, class Bell>
bool ring(Access& access, Bell& bell) {
    access.raise_count(bell);
    if (!access.is_sleeping(bell)) return false;
    access.wake_sleeper(bell);
    return true;
}

/// Signaller, after the light fence, where the word and its mark may be gone: rings a bell if its
/// owner sleeps on that word, or is about to. @param word its name, or `any_word`.
template <class Access, class Bell>
void ring_if_asleep(Access& access, Bell& bell, std::uint32_t word = any_word) {
    const std::uint32_t on = access.sleeps_on(bell);
    if (on == nobody) return;
    if (on == word || on == any_word || word == any_word) ring(access, bell);
}

}  // namespace selion::machine::sleep_protocol
