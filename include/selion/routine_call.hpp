// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/detail/pool_access.hpp>
#include <selion/error.hpp>
#include <selion/time_limit.hpp>

/// Calls of routines that are under way.
namespace selion {

/// A routine ended with an exception on its worker.
class SELION_API routine_error : public error {
public:
    routine_error(std::string type, const std::string& sentence)
        : error(status::remote_exception, sentence), type_(std::move(type)) {}
    /// Name of the exception's type, as a compiler would write it.
    const std::string& type_name() const noexcept { return type_; }

private:
    std::string type_;
};

/// How one call is to be carried out.
struct call_options {
    std::optional<std::uint32_t> worker = {};  ///< not set: whichever has least to do
    /// From the call on; then it fails, at once where nothing of it is left. Not set: none.
    std::optional<time_limit> timeout = {};
};

/// A call that is under way, or done. Belongs to the pool's thread. One that is let go goes on; but
/// one whose arguments lie in the caller's memory is waited for, unless its time was over: a thread
/// may still write there. If it fails then, the pool says so at its end.
template <class R = void>
class [[nodiscard]] routine_call {
public:
    explicit routine_call(detail::call_hold hold) : hold_(std::move(hold)) {}

    /// Waits until it is done: results are where `out` has said. Throws what the routine has
    /// thrown, as `routine_error`, or why the call has failed.
    void wait(std::source_location site = std::source_location::current()) {
        static_cast<void>(detail::wait_call(hold_.pool(site), hold_.call(site), -1, site));
        detail::check_call(hold_.call(site));
    }
    /// The same for at most `timeout`. @return whether it is done.
    [[nodiscard]] bool wait(time_limit timeout,
                            std::source_location site = std::source_location::current()) {
        if (!detail::wait_call(hold_.pool(site), hold_.call(site), timeout.nanoseconds(), site)) {
            return false;
        }
        detail::check_call(hold_.call(site));
        return true;
    }
    /// What the routine has returned. @error bad_argument: the call has not been waited for.
    R result(std::source_location site = std::source_location::current()) const {
        const std::uint64_t* const words = detail::result_words(hold_.call(site));
        if constexpr (!std::is_void_v<R>) {
            return detail::value_of_bytes<R>(words);
        }
    }
    /// Waits, and returns what the routine has returned.
    R get(std::source_location site = std::source_location::current()) {
        wait(site);
        return result();
    }
    /// Whether it is done, or has failed. Makes progress.
    [[nodiscard]] bool is_done(std::source_location site = std::source_location::current()) {
        return detail::is_done(hold_.pool(site), hold_.call(site));
    }
    /// Gives it up: if no worker has begun it, it fails; else `worker::is_cancelled` tells its
    /// routine.
    void cancel(std::source_location site = std::source_location::current()) {
        detail::cancel_call(hold_.pool(site), hold_.call(site));
    }
    /// Who carries it out. @pre it has been waited for.
    std::uint32_t worker(std::source_location site = std::source_location::current()) const {
        return detail::worker_of(hold_.call(site));
    }

    const detail::call_hold& hold() const noexcept { return hold_; }

private:
    detail::call_hold hold_;
};

}  // namespace selion
