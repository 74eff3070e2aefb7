// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "printed.hpp"

/// The options of a small example. A mistake is one sentence on standard error and exit status 2.
///
///     examples::command_line line("ring", help);
///     line.number("--rounds", rounds, 1, 1'000'000);
///     if (const auto status = line.read(argc, argv)) return *status;
namespace examples {

class command_line {
public:
    /// @param program name before each sentence. @param help what --help prints.
    command_line(std::string program, std::string help)
        : program_(std::move(program)), help_(std::move(help)) {}

    /// `name N`, a whole number from `least` to `most`. All variables must outlive `read`.
    template <std::integral Number>
    void number(std::string name, Number& into, Number least, Number most) {
        accept(std::move(name), [&into, least, most](const std::string& text) {
            Number value{};
            const char* const end = text.data() + text.size();
            const auto [stop, trouble] = std::from_chars(text.data(), end, value);
            if (trouble != std::errc{} || stop != end || value < least || value > most) {
                return "a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most);
            }
            into = value;
            return std::string();
        });
    }

    /// `name N`, a power of two from `least` to `most`, which are powers of two.
    void power_of_two(std::string name, std::size_t& into, std::size_t least, std::size_t most) {
        accept(std::move(name), [&into, least, most](const std::string& text) {
            std::size_t value{};
            const char* const end = text.data() + text.size();
            const auto [stop, trouble] = std::from_chars(text.data(), end, value);
            if (trouble != std::errc{} || stop != end || value < least || value > most ||
                (value & (value - 1)) != 0) {
                return "a power of two from " + std::to_string(least) + " to " +
                       std::to_string(most);
            }
            into = value;
            return std::string();
        });
    }

    /// `name TEXT`, not empty.
    void text(std::string name, std::string& into) {
        accept(std::move(name), [&into](const std::string& given) {
            into = given;
            return std::string(given.empty() ? "a name" : "");
        });
    }

    /// @return the status to exit with, or nothing: go on.
    [[nodiscard]] std::optional<int> read(int argc, char** argv) const {
        std::vector<const option*> given;
        for (int i = 1; i < argc; ++i) {
            const std::string_view argument = argv[i];
            if (argument == "--help") {
                std::fputs(help_.c_str(), stdout);
                return printed(program_.c_str(), 0);
            }
            const std::size_t equals = argument.find('=');
            const option* const found = find(argument.substr(0, equals));
            if (found == nullptr) {
                return refuse("there is no option '" + std::string(argument) +
                              "'; --help lists them");
            }
            if (equals == std::string_view::npos && i + 1 == argc) {
                return refuse(found->name + " needs a value");
            }
            if (std::ranges::find(given, found) != given.end()) {
                return refuse(found->name + " is given twice; give it once");
            }
            given.push_back(found);
            const std::string value(equals == std::string_view::npos ? argv[++i]
                                                                     : argument.substr(equals + 1));
            const std::string wanted = found->take(value);
            if (!wanted.empty()) {
                return refuse(found->name + " must be " + wanted + ", not '" + value + "'");
            }
        }
        return std::nullopt;
    }

    /// Says what is wrong with the arguments. @return the status to exit with.
    int refuse(const std::string& sentence) const {
        std::fprintf(stderr, "%s: %s\n", program_.c_str(), sentence.c_str());
        return 2;
    }

private:
    struct option {
        std::string name;
        /// Takes a value. @return empty, or what it must be.
        std::function<std::string(const std::string&)> take;
    };
    void accept(std::string name, std::function<std::string(const std::string&)> take) {
        options_.push_back({std::move(name), std::move(take)});
    }
    const option* find(std::string_view name) const {
        for (const option& one : options_) {
            if (one.name == name) return &one;
        }
        return nullptr;
    }

    std::string program_;
    std::string help_;
    std::vector<option> options_;
};

}  // namespace examples
