// SPDX-License-Identifier: Apache-2.0
#include "machine/process/failure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/log.hpp"
#include "machine/process/bounded_end.hpp"

namespace selion {
namespace {

std::atomic<error_handler> registered = nullptr;
std::atomic<pid_t> caller = 0;  ///< the thread that is in it
std::atomic<const base::room_for_saying*> room_to_tell = nullptr;

void call(error_handler handler, const failure& why) noexcept {
    try {
        handler(why);
    } catch (const std::exception& trouble) {
        base::say(std::string("the error handler ended with an exception: ") + trouble.what());
    } catch (...) {
        base::say("the error handler ended with an exception that is no std::exception");
    }
}

}  // namespace

error_handler set_error_handler(error_handler handler) noexcept {
    // acq_rel: what the handler uses; pairs with who calls it [error.handler]
    return registered.exchange(handler, std::memory_order_acq_rel);
}

namespace machine {

void tell(std::string_view sentence) {
    // acquire: what it looks at; pairs with who sets it [tell.room]
    base::say(sentence, room_to_tell.load(std::memory_order_acquire));
}

void set_room_for_telling(const base::room_for_saying* room) noexcept {
    // release: pairs with who tells something [tell.room]
    room_to_tell.store(room, std::memory_order_release);
}

bool is_in_error_handler() noexcept { return caller.load(std::memory_order_relaxed) == gettid(); }

void announce(const failure& why) noexcept {
    if (is_in_error_handler()) {
        return base::say("in the error handler, which must not call Selion: " +
                         std::string(why.sentence));
    }
    tell(why.sentence);
    // acquire: what it uses [error.handler]
    const error_handler handler = registered.load(std::memory_order_acquire);
    if (handler == nullptr) return;
    caller.store(gettid(), std::memory_order_relaxed);
    call(handler, why);
    caller.store(0, std::memory_order_relaxed);
}

error cannot_open(std::string_view what) {
    const int why = errno;
    return {status::system_failure,
            fmt::format("there is no file descriptor for {} ({}); raise `ulimit -n`, or close "
                        "files before run",
                        what, std::strerror(why))};
}

void flush_and_leave(int status) noexcept {
    leave_within(1, status);
    std::fflush(nullptr);
    _exit(status);
}

}  // namespace machine
}  // namespace selion
