// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

namespace selion::machine {

/// The C++ run-time keeps the exceptions that are being handled per thread; fibers that switch
/// inside a catch clause would mix them up. The layout is that of the Itanium C++ ABI.
struct exception_state {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};

inline exception_state& thread_exceptions() {
    return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace selion::machine
