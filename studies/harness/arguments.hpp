// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

/// What `selion study` and its programs agree on: arguments in, rows out.
namespace study {

/// A parameter outside its legal range; `what()` is one sentence. Programs end with status 2.
class bad_argument : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// --experiment NAME --params JSON [--repetitions N] [--seed S]
struct arguments {
    std::string experiment;
    nlohmann::ordered_json params = nlohmann::ordered_json::object();
    std::uint32_t repetitions = 1;
    std::uint64_t seed = 1;
};

namespace detail {

template <class Integer>
Integer parse_integer(std::string_view option, std::string_view text, Integer at_least) {
    Integer value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value < at_least) {
        throw bad_argument(std::string(option) + " is '" + std::string(text) +
                           "'; legal is an integer from " + std::to_string(at_least) + " on.");
    }
    return value;
}

inline nlohmann::ordered_json parse_params(std::string_view text) {
    auto params = nlohmann::ordered_json::parse(text, nullptr, false);
    if (!params.is_object()) {
        throw bad_argument("--params is '" + std::string(text) + "'; legal is a JSON object.");
    }
    return params;
}

}  // namespace detail

/// @error bad_argument
inline arguments parse_arguments(int argc, char** argv) {
    arguments given;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 == argc) throw bad_argument(std::string(option) + " needs a value.");
        const std::string_view value = argv[i + 1];
        if (option == "--experiment") {
            given.experiment = value;
        } else if (option == "--params") {
            given.params = detail::parse_params(value);
        } else if (option == "--repetitions") {
            given.repetitions = detail::parse_integer<std::uint32_t>(option, value, 1);
        } else if (option == "--seed") {
            given.seed = detail::parse_integer<std::uint64_t>(option, value, 0);
        } else {
            throw bad_argument("'" + std::string(option) +
                               "' is no option; legal: --experiment NAME, --params JSON, "
                               "--repetitions N, --seed S.");
        }
    }
    if (given.experiment.empty()) throw bad_argument("--experiment NAME is missing.");
    return given;
}

namespace detail {

/// Whether a number is a whole one that T can hold.
template <class T>
bool holds(const nlohmann::ordered_json& value) {
    return value.is_number_unsigned() &&
           value.template get<std::uint64_t>() <= std::numeric_limits<T>::max();
}

}  // namespace detail

/// A value of `params`. @error bad_argument if it is missing, of another type, or too large for T.
template <class T>
T parameter(const nlohmann::ordered_json& params, const char* key) {
    const auto found = params.find(key);
    if (found == params.end()) {
        throw bad_argument(std::string("--params lacks '") + key + "'.");
    }
    const bool fits = [&] {
        if constexpr (std::is_same_v<T, std::string>) return found->is_string();
        if constexpr (std::is_same_v<T, bool>) return found->is_boolean();
        if constexpr (std::is_floating_point_v<T>) return found->is_number();
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            return detail::holds<T>(*found);
        }
    }();
    if (!fits) {
        constexpr const char* legal = std::is_same_v<T, std::string> ? "a string"
                                      : std::is_same_v<T, bool>      ? "true, false"
                                      : std::is_floating_point_v<T>  ? "a number"
                                      : std::is_same_v<T, std::uint32_t>
                                          ? "an integer from 0 to 4294967295"
                                          : "an integer from 0 on";
        throw bad_argument(std::string("'") + key + "' is " + found->dump() + "; legal: " + legal +
                           ".");
    }
    return found->template get<T>();
}

}  // namespace study
