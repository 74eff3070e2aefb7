/* SPDX-License-Identifier: Apache-2.0 */
#include <lapi.h>
#include <stdio.h>

static int number;
static int sum;

int main(int argc, char** argv) {
    lapi_handle_t handle;
    lapi_info_t info = {0};
    int task;
    (void)argc, (void)argv;
    LAPI_Init(&handle, &info);
    LAPI_Qenv(handle, TASK_ID, &task);
    number = task + 1;
    /* Variables of a program lie at the same address in all its tasks: nothing is exchanged. */
    LAPI_Rmw(handle, FETCH_AND_ADD, 0, &sum, &number, NULL, NULL);
    LAPI_Gfence(handle);
    if (task == 0) printf("sum %d\n", sum);
    LAPI_Term(handle);
    return 0;
}
