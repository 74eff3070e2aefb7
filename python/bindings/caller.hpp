// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/rank_death.hpp>
#include <selion/global_ptr.hpp>
#include <selion/team.hpp>

#include "place.hpp"

namespace bindings {

/// Raises RuntimeError.
[[noreturn]] inline void refuse_now(const char* sentence) {
    PyErr_SetString(PyExc_RuntimeError, sentence);
    throw nanobind::python_error();
}

/// Raises in a thread that works for no rank: the library would end the whole job.
inline void expect_rank() {
    if (selion::detail::current_context->ranks != 0) [[likely]]
        return;
    refuse_now(
        "This thread works for no rank: call selion from the function that selion.run calls, or "
        "join it with 'with world.joined_thread():'.");
}

/// Raises also in a function that another rank has called, where the library would end the job.
/// @param what would wait.
inline void expect_may_wait(const char* what) {
    expect_rank();
    if (!selion::detail::current_context->own.in_handler) [[likely]]
        return;
    const std::string sentence =
        std::string(what) +
        " waits for other ranks, which a function must not do that another rank has called: return "
        "what the caller needs, and let it wait.";
    refuse_now(sentence.c_str());
}

/// Raises where a team has been freed, and what is asked of it waits for nobody.
inline void expect_member(const selion::team& team) {
    expect_rank();
    if (team.is_member()) [[likely]]
        return;
    refuse_now("This team has been freed, or its job is over.");
}

/// The same before what waits.
inline void expect_caller(const selion::team& team) {
    expect_may_wait("This call");
    expect_member(team);
}

/// The same before a call that reports of hangs and deaths know; notes where it is made.
inline void enter_call(const char* what) {
    expect_may_wait(what);
    note_place();
}
inline void enter_call(const selion::team& team) {
    expect_caller(team);
    note_place();
}

/// The same before memory is read that may be another process's.
template <class T>
void expect_may_read(selion::global_ptr<T> place) {
    if (!selion::detail::current_context->own.in_handler) [[likely]]
        return;
    if (place.local() == nullptr) expect_may_wait("Reading memory that is not mapped");
}

/// The rank that the calling thread works for, and its job.
inline std::pair<std::uint32_t, std::uint32_t> caller() {
    const selion::detail::rank_context& context = *selion::detail::current_context;
    return {context.job, context.rank};
}

/// The job that something was made in. A simulated job ends in a process that goes on, and what is
/// kept of it refers to nothing then, or to what a later job has there.
class own_job {
public:
    /// Raises where the calling thread works for no rank of that job.
    void expect() const {
        expect_rank();
        if (selion::detail::current_context->job == number_) [[likely]]
            return;
        refuse_now("The job that this belongs to is over.");
    }

private:
    std::uint32_t number_ = caller().first;
};

/// Carries out a collective without the GIL. Members that come late may read and write what it was
/// given even after it has ended in an error: that stays for ever then.
/// @param memory objects whose memory that is; null ones do not count.
template <class Call>
decltype(auto) without_gil(std::initializer_list<nanobind::handle> memory, const Call& call) {
    try {
        const nanobind::gil_scoped_release free;
        return call();
    } catch (...) {
        for (const nanobind::handle each : memory) each.inc_ref();
        throw;
    }
}

/// Carries out an access to the memory of other ranks. Where one dies meanwhile, the network may
/// read and write on this side even after the access has ended in an error: that memory stays for
/// ever then.
/// @param memory object whose memory that is
template <class Call>
void keeping(nanobind::handle memory, const Call& call) {
    const std::uint32_t deaths = selion::detail::count_of_deaths();
    try {
        call();
    } catch (...) {
        if (selion::detail::count_of_deaths() != deaths) memory.inc_ref();
        throw;
    }
}

/// Gives the GIL away around what takes no time, except in a simulation: there other ranks, which
/// are threads of this interpreter, may have to come first.
class yield_to_simulated_ranks {
public:
    yield_to_simulated_ranks() {
        if (selion::detail::current_context->spends_time) free_.emplace();
    }

private:
    std::optional<nanobind::gil_scoped_release> free_;
};

/// Gives the GIL away around an access, unless it takes less time than that. Reports of hangs know
/// where such an access is made.
class yield_unless_quick {
public:
    // Below this a copy within mapped memory takes less time than giving the GIL away.
    static constexpr std::size_t short_bytes = std::size_t{64} << 10;

    template <class T>
    yield_unless_quick(selion::global_ptr<T> place, std::size_t bytes) {
        const bool is_quick = bytes < short_bytes && place.local() != nullptr &&
                              !selion::detail::current_context->spends_time;
        if (is_quick) return;
        place_.emplace();
        free_.emplace();
    }

private:
    std::optional<place_of_start> place_;
    std::optional<nanobind::gil_scoped_release> free_;
};

}  // namespace bindings
