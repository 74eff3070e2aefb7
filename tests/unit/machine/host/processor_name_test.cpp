// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "machine/host/host.hpp"

namespace selion::machine {
namespace {

/// What the kernel tells of the first processor, by its names for it.
std::map<std::string, std::string> told_by_kernel() {
    std::map<std::string, std::string> told;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line) && !line.empty();) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        told[name] = line.substr(std::min(colon + 2, line.size()));
    }
    return told;
}

TEST(processor_name, says_which_one_it_is_where_brands_do_not) {
#if defined(__x86_64__)
    const auto told = told_by_kernel();
    EXPECT_EQ(processor_name(), told.at("model name") + ", family " + told.at("cpu family") +
                                    ", model " + told.at("model") + ", stepping " +
                                    told.at("stepping"));
#else
    GTEST_SKIP() << "the kernel's text is that of x86: " << told_by_kernel().size() << " lines";
#endif
}

TEST(processor_name, is_part_of_the_hosts_name_as_the_number_of_processors) {
    EXPECT_EQ(host_fingerprint().size(), 16U);
    EXPECT_EQ(host_fingerprint(), host_fingerprint());
}

}  // namespace
}  // namespace selion::machine
