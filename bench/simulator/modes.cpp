// SPDX-License-Identifier: Apache-2.0
#include "modes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

/// "ranks=, rounds=" or "ring, barrier".
template <class Range>
std::string names_of(const Range& all, std::string_view after) {
    std::string names;
    for (const auto& each : all) {
        names.append(names.empty() ? "" : ", ").append(each.name).append(after);
    }
    return names;
}

int refuse(const char* program, const std::string& sentence) {
    std::fprintf(stderr, "%s: %s\n", program, sentence.c_str());
    return 2;
}

/// @return what is wrong; empty if nothing is.
std::string set_number(std::vector<number>& numbers, std::string_view argument) {
    const std::size_t mark = std::min(argument.find('='), argument.size());
    const std::string_view name = argument.substr(0, mark);
    const std::string_view text = argument.substr(std::min(mark + 1, argument.size()));
    const auto place = std::ranges::find(numbers, name, &number::name);
    if (place == numbers.end() || mark == argument.size()) {
        return std::string("'").append(argument) + "' is none of " + names_of(numbers, "=");
    }
    std::uint64_t value = 0;
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = trouble == std::errc{} && end == text.data() + text.size();
    if (!is_number || value < place->least) {
        return std::string(name) + " is '" + std::string(text) + "'; legal: a whole number from " +
               std::to_string(place->least) + " on";
    }
    place->value = value;
    return {};
}

}  // namespace

std::uint64_t request::operator[](std::string_view name) const {
    const auto place = std::ranges::find(numbers, name, &number::name);
    if (place == numbers.end()) std::abort();
    return place->value;
}

int run_mode(int argc, char** argv, std::span<const mode> modes) {
    const char* const program = argv[0];
    if (argc < 2) return refuse(program, "which mode? Legal: " + names_of(modes, ""));
    const auto chosen = std::ranges::find(modes, std::string_view(argv[1]), &mode::name);
    if (chosen == modes.end()) {
        return refuse(program, "there is no mode '" + std::string(argv[1]) +
                                   "'; legal: " + names_of(modes, ""));
    }
    request what{argc, argv, chosen->numbers};
    for (int i = 2; i < argc; ++i) {
        const std::string trouble = set_number(what.numbers, argv[i]);
        if (!trouble.empty()) return refuse(program, trouble);
    }
    return chosen->run(what);
}

}  // namespace bench
