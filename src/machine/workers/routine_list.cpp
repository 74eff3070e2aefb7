// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/routine_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "selion/error.hpp"

namespace selion::machine::workers {
namespace {

/// Routines register themselves while the program and its libraries are loaded.
struct program_list {
    std::mutex change;
    detail::routine_entry* first = nullptr;
};
program_list& list() {
    static program_list all;  // before any routine that asks for it
    return all;
}

template <class T>
void append(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& from) {
    T value{};
    if (from.size() < sizeof value) {
        throw error(status::system_failure, "a worker's list of routines is cut short");
    }
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
    return value;
}

}  // namespace

std::vector<const detail::routine_entry*> own_routines() {
    std::vector<const detail::routine_entry*> all;
    program_list& known = list();
    const std::lock_guard lock(known.change);
    for (const detail::routine_entry* one = known.first; one != nullptr; one = one->next) {
        all.push_back(one);
    }
    std::ranges::sort(all, {},
                      [](const detail::routine_entry* one) { return std::string_view(one->name); });
    return all;
}

std::string encode_list(const std::vector<const detail::routine_entry*>& routines) {
    std::string bytes;
    for (const detail::routine_entry* one : routines) {
        const std::string_view name = one->name;
        append(bytes, static_cast<std::uint32_t>(name.size()));
        bytes += name;
        append(bytes, one->result);
        append(bytes, static_cast<std::uint32_t>(one->parameters.size()));
        for (const detail::routine_parameter& each : one->parameters) append(bytes, each);
    }
    return bytes;
}

std::vector<routine_shape> decode_list(std::string_view bytes) {
    std::vector<routine_shape> shapes;
    while (!bytes.empty()) {
        routine_shape& next = shapes.emplace_back();
        const auto length = take<std::uint32_t>(bytes);
        next.name = bytes.substr(0, length);
        bytes.remove_prefix(next.name.size());
        next.result = take<detail::routine_parameter>(bytes);
        next.parameters.resize(take<std::uint32_t>(bytes));
        for (detail::routine_parameter& each : next.parameters) {
            each = take<detail::routine_parameter>(bytes);
        }
    }
    return shapes;
}

std::vector<routine_shape> shapes_of(const std::vector<const detail::routine_entry*>& routines) {
    std::vector<routine_shape> shapes;
    shapes.reserve(routines.size());
    for (const detail::routine_entry* one : routines) {
        shapes.push_back(
            {one->name, {one->parameters.begin(), one->parameters.end()}, one->result});
    }
    return shapes;
}

}  // namespace selion::machine::workers

namespace selion::detail {

void add_routine(routine_entry& entry) {
    if (entry.name == nullptr || *entry.name == '\0') {
        throw error(status::bad_argument, "a routine needs a name");
    }
    auto& known = machine::workers::list();
    const std::lock_guard lock(known.change);
    for (const routine_entry* one = known.first; one != nullptr; one = one->next) {
        if (std::string_view(one->name) != entry.name) continue;
        throw error(status::bad_argument,
                    fmt::format("this program has two routines named \"{}\"; give one of them "
                                "another name",
                                entry.name));
    }
    entry.next = known.first;
    known.first = &entry;
}

void remove_routine(routine_entry& entry) noexcept {
    auto& known = machine::workers::list();
    const std::lock_guard lock(known.change);
    for (routine_entry** place = &known.first; *place != nullptr; place = &(*place)->next) {
        if (*place != &entry) continue;
        *place = entry.next;
        return;
    }
}

std::string text_of(const routine_parameter& parameter) {
    const std::uint32_t bits = parameter.element_bytes * 8;
    std::string element;
    switch (parameter.element) {
        case value_kind::integer: element = fmt::format("int{}", bits); break;
        case value_kind::natural: element = fmt::format("uint{}", bits); break;
        case value_kind::real: element = bits == 32 ? "float" : "double"; break;
        case value_kind::truth: element = "bool"; break;
        case value_kind::other: element = fmt::format("{} bytes", parameter.element_bytes); break;
    }
    if (!parameter.is_span) return element + (parameter.is_mutable ? "&" : "");
    return fmt::format("span<{}{}>", parameter.is_mutable ? "" : "const ", element);
}

}  // namespace selion::detail
