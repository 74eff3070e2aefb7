// SPDX-License-Identifier: Apache-2.0
// lapi_mistakes WHAT: task 0 sends an active message to task 1, whose header or completion
// handler does wrong.

#include <selion/lapi.h>
#include <selion/run.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace {

void* wait_in_header_handler(lapi_handle_t* handle, void*, uint*, ulong*, compl_hndlr_t**, void**) {
    lapi_cntr_t counter{};
    LAPI_Waitcntr(*handle, &counter, 1, nullptr);  // site: wait
    return nullptr;
}

void* give_no_place(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
    return nullptr;
}

template <compl_hndlr_t* Completion>
void* leave_to(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
    static int place;
    *completion = Completion;
    return &place;
}

void fence_all(lapi_handle_t* handle, void*) {
    LAPI_Gfence(*handle);  // site: gfence
}

void exchange(lapi_handle_t* handle, void*) {
    std::array<void*, 64> table{};
    LAPI_Address_init(*handle, table.data(), table.data());  // site: address_init
}

void terminate(lapi_handle_t* handle, void*) {
    LAPI_Term(*handle);  // site: term
}

void throw_one(lapi_handle_t*, void*) { throw std::runtime_error("no such file"); }

void* handler_of(std::string_view what) {
    if (what == "throw") return reinterpret_cast<void*>(leave_to<throw_one>);
    if (what == "gfence") return reinterpret_cast<void*>(leave_to<fence_all>);
    if (what == "address_init") return reinterpret_cast<void*>(leave_to<exchange>);
    if (what == "term") return reinterpret_cast<void*>(leave_to<terminate>);
    if (what == "wait") return reinterpret_cast<void*>(wait_in_header_handler);
    if (what == "no_place") return reinterpret_cast<void*>(give_no_place);
    return reinterpret_cast<void*>(std::uint64_t{5});  // task 1 has none of that number
}

void make_mistake(selion::world& world, std::string_view what) {
    lapi_handle_t handle = 0;
    lapi_info_t info{};
    LAPI_Init(&handle, &info);
    int data = 1;
    if (world.rank() == 0) {
        LAPI_Amsend(handle, 1, handler_of(what), nullptr, 0, &data, sizeof data, nullptr, nullptr,
                    nullptr);
    }
    LAPI_Gfence(handle);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    return selion::run(argc, argv, [&](selion::world& world) { make_mistake(world, what); });
}
