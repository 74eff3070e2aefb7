// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <thread>

namespace selion::machine {

/// For whoever is about to end the process. Does nothing where there is nothing to do; returns when
/// it is done, also if another thread does it.
void say_last_words();

/// The same from the handler of a fatal signal. Waits half a second at most.
void say_last_words_from_handler();

/// Ends the process by a signal, as soon as that is done.
[[noreturn]] void die_with_last_words(int signal);

/// For who is about to end the process as if nothing had happened. Does not return if one of the
/// signals below has come: the process dies of it as soon as that is done.
void die_if_interrupted();

/// Something that a process with ranks shall still do if it ends early: because of SIGINT, SIGTERM
/// or SIGHUP, a fatal signal, or a call that ends the job. Not after SIGKILL and `_exit`.
///
/// Signals that the program handles itself are left to it. The others keep their effect: the
/// process dies of them, only later. A handler notes the signal, and a thread that waits for notes
/// does what is to be done, because a handler may do next to nothing. Children that the program
/// starts see none of it: `exec` sets handlers back. One object at a time in a process.
class last_words {
public:
    /// @param act called at most once, by any thread, while the ranks may still run.
    explicit last_words(std::function<void()> act);
    ~last_words();
    last_words(const last_words&) = delete;
    last_words& operator=(const last_words&) = delete;

    /// From now on. Any thread, any number of times; only the first counts.
    void arm();

private:
    friend void say_last_words();
    /// @return false where the system has no thread for it.
    bool start_serving();
    void serve() const;

    std::function<void()> act_;
    std::array<int, 2> ends_{-1, -1};  ///< of the pipe that brings notes
    int done_ = -1;
    std::array<int, 3> taken_{};  ///< signals whose handler is ours; else 0
    std::thread thread_;
};

}  // namespace selion::machine
