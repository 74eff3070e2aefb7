// SPDX-License-Identifier: Apache-2.0
#include "calling_apart.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <utility>

namespace nb = nanobind;

namespace bindings {
namespace {

/// Of the thread that runs handlers of signals, the process' first.
struct kept_exception {
    nb::object exception;
    int depth = 0;  ///< of functions that run apart
};

kept_exception& kept() {
    static auto* const own = new kept_exception;  // outlives the interpreter
    return *own;
}

/// Python calls it between two steps of a program.
int raise_kept(void*) {
    if (kept().depth != 0 || !kept().exception.is_valid()) return 0;
    const nb::object exception = std::exchange(kept().exception, {});
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    return -1;
}

}  // namespace

calling_apart::calling_apart() : runs_handlers_(gettid() == getpid()) {
    if (runs_handlers_) {
        ++kept().depth;
        if (PyErr_CheckSignals() != 0) keep(nb::python_error());
    }
    _PyErr_StackItem*& handled = PyThreadState_Get()->exc_info;
    handled_ = std::exchange(handled, &none_);
}

calling_apart::~calling_apart() {
    PyThreadState_Get()->exc_info = handled_;
    if (!runs_handlers_) return;
    if (--kept().depth == 0 && kept().exception.is_valid()) Py_AddPendingCall(&raise_kept, nullptr);
}

void calling_apart::keep(const nb::python_error& raised) const {
    if (!runs_handlers_) return;
    const nb::object exception = nb::borrow(raised.value());
    const nb::handle trace = raised.traceback();
    if (trace.is_valid()) PyException_SetTraceback(exception.ptr(), trace.ptr());
    nb::object& last = kept().exception;
    if (last.is_valid()) PyException_SetContext(exception.ptr(), last.release().ptr());
    last = exception;
}

}  // namespace bindings
