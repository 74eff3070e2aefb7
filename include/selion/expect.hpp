// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string>

#include <selion/detail/export.hpp>

namespace selion::detail {

/// Reports a bug of the program with rank, call site and recent call, then ends the whole job.
[[noreturn]] SELION_API void end_job_for_bug(const std::string& sentence,
                                             std::source_location site);

}  // namespace selion::detail

/// Ends the job with `sentence` (any expression that makes a std::string, evaluated only then)
/// unless `condition` holds. For bugs of the calling program; never an exception, because one rank
/// that unwinds while others wait is a hang. Compiled out at SELION_CHECK_LEVEL 0.
#if SELION_CHECK_LEVEL >= 1
#define SELION_EXPECT_AT(condition, site, sentence)                \
    do {                                                           \
        if (!(condition)) [[unlikely]]                             \
            ::selion::detail::end_job_for_bug((sentence), (site)); \
    } while (false)
#else
#define SELION_EXPECT_AT(condition, site, sentence)                                \
    do {                                                                           \
        if (false) {                                                               \
            static_cast<void>(condition), static_cast<void>(site), void(sentence); \
        }                                                                          \
    } while (false)
#endif
#define SELION_EXPECT(condition, sentence) \
    SELION_EXPECT_AT(condition, ::std::source_location::current(), sentence)
