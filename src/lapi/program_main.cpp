// SPDX-License-Identifier: Apache-2.0
/// Where a program starts that is linked with selion::lapi. The linker (--wrap=main) calls this
/// instead of the program's main, which every task then calls: so it stays a main in every respect.
#include <selion/run.hpp>

extern "C" int __real_main(int argc, char** argv, char** environment);

extern "C" int __wrap_main(int argc, char** argv, char** environment) {
    // Processes, because the tasks of LAPI have variables of their own.
    return selion::run(argc, argv, {.machine = "processes"},
                       [&](selion::world&) { return __real_main(argc, argv, environment); });
}
