// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lapi/fences.hpp"
#include "lapi/task.hpp"

namespace selion::lapi {
namespace {

arrival take_address(const lapi_long_t& address, message_info about) {
    task& own = task_of_handler();
    // Whoever comes first makes room: the task itself may not have begun.
    own.exchanged.resize(own_context().ranks);
    own.exchanged[about.origin] = address;
    count(&own.exchanged_count);
    return {};
}

/// Afterwards `own.exchanged` holds the addresses of all tasks, until the tasks `meet`.
void exchange(task& own, lapi_long_t address) {
    const std::uint32_t tasks = own_context().ranks;
    for (std::uint32_t distance = 0; distance < tasks; ++distance) {
        send((own_context().rank + distance) % tasks, take_address, address, {}, {}, own.site);
    }
    wait_for(own, own.exchanged_count, tasks);
}

/// @param table of the caller, with room for all tasks.
int exchange_addresses(lapi_handle_t handle, lapi_long_t address, lapi_long_t* table) {
    task* const own = find_task(handle);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (table == nullptr) return LAPI_ERR_ADDR_TBL_NULL;
    expect_no_handler(*own, "LAPI_Address_init");
    exchange(*own, address);
    std::ranges::copy(own->exchanged, table);
    meet(*own);
    return LAPI_SUCCESS;
}

bool is_place(int number) { return number >= 1 && number < address_table_entries; }

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Address(void* my_addr, ulong* ret_addr) {
    if (ret_addr == nullptr) return LAPI_ERR_RET_PTR_NULL;
    *ret_addr = reinterpret_cast<ulong>(my_addr);
    return LAPI_SUCCESS;
}

int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab) {
    return exchange_addresses(hndl, my_addr, add_tab);
}

int LAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]) {
    static_assert(sizeof(void*) == sizeof(lapi_long_t));
    return exchange_addresses(hndl, reinterpret_cast<lapi_long_t>(my_addr),
                              reinterpret_cast<lapi_long_t*>(add_tab));
}

int LAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (!is_place(addr_hndl)) return LAPI_ERR_ADDR_HNDL_RANGE;
    own->addresses[static_cast<std::size_t>(addr_hndl)] = addr;
    return LAPI_SUCCESS;
}

int LAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (addr == nullptr) return LAPI_ERR_RET_PTR_NULL;
    if (!is_place(addr_hndl)) return LAPI_ERR_ADDR_HNDL_RANGE;
    *addr = own->addresses[static_cast<std::size_t>(addr_hndl)];
    return LAPI_SUCCESS;
}
