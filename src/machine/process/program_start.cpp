// SPDX-License-Identifier: Apache-2.0
#include "machine/process/program_start.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace selion::machine {
namespace {

std::vector<std::string> read_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> arguments;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\0', start), text.size());
        arguments.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return arguments;
}

// Read as the program is loaded: it may write over them, to tell the system what it does.
[[maybe_unused]] const std::vector<std::string>& early_arguments = own_arguments();

}  // namespace

const std::vector<std::string>& own_arguments() {
    // Never destroyed: jobs may begin while the program leaves.
    static const auto& arguments = *new std::vector<std::string>(read_arguments());
    return arguments;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace selion::machine
