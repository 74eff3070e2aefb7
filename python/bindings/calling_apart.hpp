// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace bindings {

/// While this lives Python runs a function that the program has not called here. What handlers of
/// signals raise before it is the program's, and is raised behind the call that waits. The function
/// does not see the exception that the program handles where it waits.
/// @pre the GIL is held at both ends.
class calling_apart {
public:
    calling_apart();
    ~calling_apart();
    calling_apart(const calling_apart&) = delete;
    calling_apart& operator=(const calling_apart&) = delete;

    /// Has it raised behind the call that waits. In a thread that runs no handlers it is dropped.
    void keep(const nanobind::python_error& raised) const;

private:
    bool runs_handlers_;
    /// What the program handles, with all that is around a generator: more than what calls of the
    /// interpreter could save and set.
    _PyErr_StackItem* handled_ = nullptr;
    _PyErr_StackItem none_{};
};

}  // namespace bindings
