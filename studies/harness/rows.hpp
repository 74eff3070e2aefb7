// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace study {

/// Median and spread of samples.
struct spread {
    double median = 0;
    double p5 = 0;
    double p95 = 0;
    std::size_t n = 0;
};

namespace detail {

/// Linear interpolation between the two nearest samples. @pre `sorted` is sorted and not empty.
inline double quantile(const std::vector<double>& sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double part = place - static_cast<double>(below);
    return sorted[below] + part * (sorted[above] - sorted[below]);
}

/// Six significant digits: more would only pretend.
inline double rounded(double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::fabs(value))));
    return std::round(value * scale) / scale;
}

}  // namespace detail

/// @pre `samples` is not empty.
inline spread spread_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return {detail::quantile(samples, 0.5), detail::quantile(samples, 0.05),
            detail::quantile(samples, 0.95), samples.size()};
}

/// What all rows of one run have in common.
struct row_frame {
    nlohmann::ordered_json params;
    std::uint32_t ranks = 0;
    std::uint32_t repetition = 0;
};

/// What a row says besides its params.
struct measurement {
    std::string metric;
    std::string unit;
};

namespace detail {

/// Prints one row at once, so that an interrupted run keeps it.
inline void print(const row_frame& frame, const measurement& what,
                  const nlohmann::ordered_json& values) {
    nlohmann::ordered_json row = {
        {"params", frame.params}, {"metric", what.metric}, {"unit", what.unit}};
    row.update(values);
    row["repetition"] = frame.repetition;
    row["ranks"] = frame.ranks;
    std::printf("%s\n", row.dump().c_str());
    std::fflush(stdout);
}

}  // namespace detail

/// Prints a counted or computed row. @pre called by one rank.
inline void print_row(const row_frame& frame, const measurement& what,
                      const nlohmann::ordered_json& value) {
    detail::print(frame, what, {{"value", value}});
}

/// Prints a measured row, whose value is the median. @pre called by one rank.
inline void print_row(const row_frame& frame, const measurement& what, const spread& measured) {
    detail::print(frame, what,
                  {{"value", detail::rounded(measured.median)},
                   {"p5", detail::rounded(measured.p5)},
                   {"p95", detail::rounded(measured.p95)},
                   {"n", measured.n}});
}

}  // namespace study
