// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <selion/detail/export.hpp>

namespace selion {

/// What kind of trouble an `error` reports.
enum class status {
    bad_argument,      ///< a value that a user or a file supplied is outside its legal range
    not_available,     ///< this machine, option or facility does not exist here
    out_of_memory,     ///< symmetric memory or address space is exhausted
    timed_out,         ///< a deadline passed before the condition held
    remote_exception,  ///< a function on another rank ended with an exception
    rank_dead,         ///< a peer ended before the operation completed
    system_failure,    ///< a call of the operating system failed
};

/// Trouble that comes from the environment or a peer, never from a bug in the calling program
/// (bugs end the job with a sentence, see `expect.hpp`). `what()` is one sentence that says what to
/// change.
class SELION_API error : public std::runtime_error {
public:
    /// Where and on what an operation failed; fields that do not apply stay empty.
    struct details {
        std::optional<std::uint32_t> rank = {};  ///< rank that reports
        std::optional<std::uint32_t> peer = {};  ///< rank that the operation addressed
        std::string operation = {};              ///< "put", "allocate", …
        std::size_t bytes = 0;                   ///< size of the operation
    };

    error(selion::status code, const std::string& sentence) : error(code, sentence, {}) {}
    error(selion::status code, const std::string& sentence, details where)
        : std::runtime_error(sentence), code_(code), details_(std::move(where)) {}

    selion::status code() const noexcept { return code_; }
    const details& where() const noexcept { return details_; }

private:
    selion::status code_;
    details details_;
};

/// Either a value or the error that prevented it; used where failing is ordinary (set-up paths).
template <class Value>
class result {
public:
    result(Value value) : content_(std::move(value)) {}
    result(error trouble) : content_(std::move(trouble)) {}

    bool has_value() const noexcept { return content_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /// @return the value. Throws the error if there is none.
    const Value& value() const& {
        if (!has_value()) throw std::get<1>(content_);
        return std::get<0>(content_);
    }
    Value&& value() && {
        if (!has_value()) throw std::get<1>(content_);
        return std::get<0>(std::move(content_));
    }
    /// @pre `!has_value()`.
    const error& trouble() const { return std::get<1>(content_); }

private:
    std::variant<Value, error> content_;
};

}  // namespace selion
