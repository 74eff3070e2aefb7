// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>

namespace selion::detail {

/// Room of the library's for what other members write. Those that are late may write it after the
/// call has ended in an error: then it is never given back.
template <class Values>
class late_target {
public:
    explicit late_target(std::size_t count) : values_(std::make_unique<Values>(count)) {}
    ~late_target() {
        if (std::uncaught_exceptions() > exceptions_) static_cast<void>(values_.release());
    }
    late_target(const late_target&) = delete;
    late_target& operator=(const late_target&) = delete;

    Values& operator*() const { return *values_; }

private:
    std::unique_ptr<Values> values_;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace selion::detail
