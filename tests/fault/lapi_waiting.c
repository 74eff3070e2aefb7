// SPDX-License-Identifier: Apache-2.0
// lapi_waiting HOW: a program that knows LAPI's names only. Its last task waits for what never
// comes: how=direct, by a call; how=pointer, by one whose place is not noted.

#include <lapi.h>
#include <string.h>

/// Makes a call of its own while its task waits in another.
static void finish(lapi_handle_t* handle, void* argument) {
    lapi_cntr_t own;
    (void)argument;
    LAPI_Setcntr(*handle, &own, 1);
}

static void* take(lapi_handle_t* handle, void* header, uint* header_bytes, ulong* bytes,
                  compl_hndlr_t** completion, void** argument) {
    (void)handle, (void)header, (void)header_bytes, (void)bytes, (void)argument;
    *completion = finish;
    return LAPI_ADDR_NULL;
}

int main(int argc, char** argv) {
    lapi_handle_t handle;
    lapi_info_t info = {0};
    lapi_cntr_t counter;
    int task, tasks;
    LAPI_Init(&handle, &info);
    LAPI_Qenv(handle, TASK_ID, &task);
    LAPI_Qenv(handle, NUM_TASKS, &tasks);
    LAPI_Setcntr(handle, &counter, 0);
    const uint last = (uint)tasks - 1;
    if ((uint)task != last) {
        LAPI_Amsend(handle, last, (void*)take, NULL, 0, NULL, 0, NULL, NULL, NULL);
    } else if (argc > 1 && strcmp(argv[1], "pointer") == 0) {
        (LAPI_Waitcntr)(handle, &counter, 1, NULL);
    } else {
        LAPI_Waitcntr(handle, &counter, 1, NULL);  // site: counter
    }
    LAPI_Gfence(handle);  // site: fence
    return 0;
}
