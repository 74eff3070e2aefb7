// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/world.hpp>

namespace selion {

/// What a program asks for before its ranks start. Variables of the environment win.
struct run_options {
    /// Spec used where neither SELION_MACHINE nor a cluster's launcher (PMIx: "fabric") says one;
    /// empty: "threads".
    std::string machine = {};
    selion::thread_level thread_level = thread_level::single;
};

namespace detail {
/// A program's function without its type, and where `run` was called.
struct rank_function {
    int (*call)(void* function, world& all);
    void* function;
    std::source_location site;
};
SELION_API int run_job(int argc, char** argv, const run_options& options,
                       const rank_function& body);
}  // namespace detail

/// Runs `function(world&)` once on every rank of the machine that SELION_MACHINE names, and returns
/// the exit status of the job: 0, or the first non-zero value that a rank returned, or, when a rank
/// died, failed or threw, the status that stands for it. All ranks start together; the call returns
/// when all have returned.
///
/// Under threads and fibers the function object is shared by all ranks, which call it at the same
/// time. Under processes the program is executed anew for each process, with the same arguments,
/// up to this call; in such a process the call does not return, it exits. So code before `run`
/// happens once per process, and code after it once, in the process that was started by hand.
/// @return where no job began, after a sentence: 2 if the spec or a variable is not legal, 1 if the
/// host lacks something.
template <class Function>
    requires(!std::is_function_v<std::remove_reference_t<Function>>)
int run(int argc, char** argv, const run_options& options, Function&& function,
        std::source_location site = std::source_location::current()) {
    using target = std::remove_reference_t<Function>;
    static_assert(std::is_invocable_v<target&, world&>,
                  "selion::run needs a function that takes selion::world&");
    auto call = [](void* erased, world& all) -> int {
        target& typed = *static_cast<target*>(erased);
        if constexpr (std::is_void_v<std::invoke_result_t<target&, world&>>) {
            std::invoke(typed, all);
            return 0;
        } else {
            return std::invoke(typed, all);
        }
    };
    return detail::run_job(argc, argv, options,
                           {call, const_cast<void*>(static_cast<const void*>(&function)), site});
}

/// The same of a function that is no object.
template <class Result>
int run(int argc, char** argv, const run_options& options, Result (&function)(world&),
        std::source_location site = std::source_location::current()) {
    Result (*const pointer)(world&) = &function;
    return run(argc, argv, options, pointer, site);
}

template <class Function>
int run(int argc, char** argv, Function&& function,
        std::source_location site = std::source_location::current()) {
    return run(argc, argv, run_options{}, std::forward<Function>(function), site);
}

}  // namespace selion
