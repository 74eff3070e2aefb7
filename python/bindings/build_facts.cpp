// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <selion/machines.hpp>

#include "module.hpp"

// python/CMakeLists.txt says what only the build knows.
#ifndef SELION_BUILD_TYPE
#define SELION_BUILD_TYPE "unknown"
#endif
#ifndef SELION_BOOST_VERSION
#define SELION_BOOST_VERSION "unknown"
#endif
#ifndef SELION_HWLOC_VERSION
#define SELION_HWLOC_VERSION "unknown"
#endif

namespace bindings {
namespace {

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

std::string check_level() {
    constexpr int level = SELION_CHECK_LEVEL;
    constexpr const char* meaning = level == 0   ? "no checks"
                                    : level == 1 ? "cheap checks"
                                                 : "also checks that communicate";
    return std::to_string(level) + " (" + meaning + ")";
}

std::vector<std::pair<std::string, std::string>> build_facts() {
    return {{"library", std::string(selion::version())},
            {"compiler", compiler},
            {"build type", SELION_BUILD_TYPE},
            {"check level", check_level()},
            {"Boost", SELION_BOOST_VERSION},
            {"hwloc", SELION_HWLOC_VERSION}};
}

}  // namespace

void add_build_facts(nb::module_& module) {
    module.def("build_facts", &build_facts,
               "What this library was built with: pairs of name and value, in words.");
}

}  // namespace bindings
