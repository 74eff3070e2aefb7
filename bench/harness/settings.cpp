// SPDX-License-Identifier: Apache-2.0
#include "harness/settings.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace bench {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view value, const char* legal) {
    std::fprintf(stderr, "%.*s is '%.*s'; legal: %s\n", static_cast<int>(option.size()),
                 option.data(), static_cast<int>(value.size()), value.data(), legal);
    std::exit(2);
}

template <class Integer>
void read(std::string_view option, std::string_view text, Integer& into,
          Integer most = std::numeric_limits<Integer>::max()) {
    Integer value{};
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = trouble == std::errc{} && end == text.data() + text.size();
    if (!is_whole || value < 1 || value > most) {
        refuse(option, text, "a whole number from 1 on, and not too large");
    }
    into = value;
}

}  // namespace

settings parse_settings(int argc, char** argv, settings defaults) {
    settings read_so_far = defaults;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--rounds") {
            read(option, value, read_so_far.rounds);
        } else if (option == "--blocks") {
            read(option, value, read_so_far.blocks);
        } else if (option == "--block-us") {
            constexpr std::int64_t ns = 1000;
            read(option, value, read_so_far.block_ns,
                 std::numeric_limits<std::int64_t>::max() / ns);
            read_so_far.block_ns *= ns;
        } else if (option == "--seed") {
            read(option, value, read_so_far.seed);
        } else if (option == "--only") {
            if (i + 1 == argc) refuse(option, value, "part of the names of the operations");
            read_so_far.only = value;
        } else {
            refuse("an option", option, "--rounds, --blocks, --block-us, --seed, --only");
        }
    }
    return read_so_far;
}

}  // namespace bench
