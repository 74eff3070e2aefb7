// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace selion::detail {

/// Memory of the library's that other members read or write. Those that are late may do so after
/// the call has ended in an error: then it is never given back.
template <class Values>
class late_memory {
public:
    template <class... Arguments>
    explicit late_memory(Arguments&&... arguments)
        : values_(std::make_unique<Values>(std::forward<Arguments>(arguments)...)) {}
    ~late_memory() {
        if (std::uncaught_exceptions() > exceptions_) static_cast<void>(values_.release());
    }
    late_memory(const late_memory&) = delete;
    late_memory& operator=(const late_memory&) = delete;

    Values& operator*() const { return *values_; }
    Values* operator->() const { return values_.get(); }

private:
    std::unique_ptr<Values> values_;
    int exceptions_ = std::uncaught_exceptions();
};

/// A value that a collective moves: where it lies if it is so short that it is always copied into
/// what members share, and nobody reads it in place.
template <class T>
class short_value {
public:
    explicit short_value(T& value) : value_(value) {}
    T& operator*() const { return value_; }

private:
    T& value_;
};
constexpr std::size_t most_short_bytes = 256;
template <class T>
using moved_value =
    std::conditional_t<sizeof(T) <= most_short_bytes, short_value<T>, late_memory<T>>;

}  // namespace selion::detail
