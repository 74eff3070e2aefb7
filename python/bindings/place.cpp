// SPDX-License-Identifier: Apache-2.0
#include "place.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <selion/detail/script_place.hpp>

namespace nb = nanobind;

namespace bindings {
namespace {

/// An instruction of the program, and the line that it belongs to.
struct known_place {
    PyCodeObject* code = nullptr;  ///< kept, so that nothing else comes to lie there
    int instruction = 0;
    bool is_in_package = false;
    std::string text;
};

std::string_view text_of(PyObject* text) {
    Py_ssize_t bytes = 0;
    const char* const start = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (start == nullptr) PyErr_Clear();
    return start == nullptr ? std::string_view{} : std::string_view(start, bytes);
}

/// Those that were met last: each has one place here where it may be, so that a look is short.
class known_places {
public:
    const known_place& of(PyFrameObject* frame, PyCodeObject* code) {
        const int instruction = PyFrame_GetLasti(frame);
        known_place& place = places_[index_of(code, instruction)];
        if (place.code != code || place.instruction != instruction) [[unlikely]]
            place = met(frame, code, instruction, place.code);
        return place;
    }

private:
    static std::size_t index_of(PyCodeObject* code, int instruction) {
        const std::uintptr_t mixed =
            reinterpret_cast<std::uintptr_t>(code) / alignof(PyCodeObject) +
            static_cast<std::uintptr_t>(instruction);
        return mixed % std::tuple_size_v<decltype(places_)>;
    }

    known_place met(PyFrameObject* frame, PyCodeObject* code, int instruction,
                    PyCodeObject* before) {
        const std::string_view file = text_of(code->co_filename);
        known_place now{
            .code = code,
            .instruction = instruction,
            .is_in_package = is_in_package(file),
            .text = std::string(file) + ':' + std::to_string(PyFrame_GetLineNumber(frame))};
        Py_INCREF(code);
        Py_XDECREF(before);
        return now;
    }

    /// Its modules may lie apart from this one: an editable installation has two folders.
    bool is_in_package(std::string_view file) {
        if (folders_.empty()) {
            for (const nb::handle path : nb::module_::import_("selion").attr("__path__")) {
                folders_.push_back(std::string(text_of(path.ptr())) + '/');
            }
        }
        return std::ranges::any_of(
            folders_, [&](const std::string& folder) { return file.starts_with(folder); });
    }

    std::array<known_place, 1024> places_;
    std::vector<std::string> folders_;
};

}  // namespace

void note_place() {
    static auto& places = *new known_places;  // never destroyed: Python may be gone by then
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame != nullptr) {
        const nb::object own = nb::steal(reinterpret_cast<PyObject*>(frame));
        PyCodeObject* const code = PyFrame_GetCode(frame);
        const nb::object own_code = nb::steal(reinterpret_cast<PyObject*>(code));
        const known_place& place = places.of(frame, code);
        if (!place.is_in_package) {
            selion::detail::note_script_place(place.text);
            return;
        }
        frame = PyFrame_GetBack(frame);
    }
}

place_of_start::place_of_start() : before_(selion::detail::noted_script_place()) { note_place(); }

place_of_start::~place_of_start() { selion::detail::note_script_place(before_); }

}  // namespace bindings
