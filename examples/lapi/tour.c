// SPDX-License-Identifier: Apache-2.0
/// A tour of LAPI in plain C: each task puts a message to the next one, all add to one counter,
/// each sends a column of a matrix into another one's row, and an active message is answered from
/// its completion handler. Every task checks what it got; task 0 says how it went.
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 8

/// What a task knows. It is not in global variables, because tasks that are threads share those.
struct tour {
    lapi_handle_t handle;
    int me;
    int tasks;
    int next;
    void** tours;  ///< addresses of all tasks' tours
    lapi_cntr_t arrived;
    lapi_cntr_t answered;
    char greeting[32];
    int tickets;
    double row[SIDE];
    int received[2];
    long long sum;
};

static void check(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "tour: %s\n", what);
    exit(1);
}

/// Every call says whether its arguments were right.
static void must(int code) {
    char sentence[LAPI_MAX_ERR_STRING];
    if (code == LAPI_SUCCESS) return;
    LAPI_Msg_string(code, sentence);
    check(0, sentence);
}

static struct tour* of(const struct tour* own, int task) { return own->tours[task]; }

static void start(struct tour* own) {
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    must(LAPI_Init(&own->handle, &info));
    must(LAPI_Qenv(own->handle, TASK_ID, &own->me));
    must(LAPI_Qenv(own->handle, NUM_TASKS, &own->tasks));
    own->next = (own->me + 1) % own->tasks;
    must(LAPI_Setcntr(own->handle, &own->arrived, 0));
    must(LAPI_Setcntr(own->handle, &own->answered, 0));
    own->tours = malloc((size_t)own->tasks * sizeof *own->tours);
    must(LAPI_Address_init(own->handle, own, own->tours));
}

/// The next task waits for the target counter, this one for the completion counter.
static void greet(struct tour* own) {
    lapi_cntr_t complete;
    char text[32];
    must(LAPI_Setcntr(own->handle, &complete, 0));
    snprintf(text, sizeof text, "greetings from %d", own->me);
    must(LAPI_Put(own->handle, (uint)own->next, sizeof text, of(own, own->next)->greeting, text,
                  &of(own, own->next)->arrived, NULL, &complete));
    must(LAPI_Waitcntr(own->handle, &own->arrived, 1, NULL));
    must(LAPI_Waitcntr(own->handle, &complete, 1, NULL));
    snprintf(text, sizeof text, "greetings from %d", (own->me + own->tasks - 1) % own->tasks);
    check(strcmp(own->greeting, text) == 0, "another greeting was expected");
}

/// All draw tickets of task 0.
static void draw(struct tour* own) {
    lapi_cntr_t drawn;
    int one = 1;
    int ticket = -1;
    int all = 0;
    must(LAPI_Setcntr(own->handle, &drawn, 0));
    must(LAPI_Rmw(own->handle, FETCH_AND_ADD, 0, &of(own, 0)->tickets, &one, &ticket, &drawn));
    must(LAPI_Waitcntr(own->handle, &drawn, 1, NULL));
    check(ticket >= 0 && ticket < own->tasks, "a ticket is out of range");
    must(LAPI_Gfence(own->handle));
    must(LAPI_Get(own->handle, 0, sizeof all, &of(own, 0)->tickets, &all, NULL, &drawn));
    must(LAPI_Waitcntr(own->handle, &drawn, 1, NULL));
    check(all == own->tasks, "tickets are missing");
}

/// Strided at the origin, dense at the target.
static void send_column(struct tour* own) {
    double matrix[SIDE][SIDE];
    void* column[3] = {&matrix[0][2], (void*)sizeof(double), (void*)sizeof matrix[0]};
    void* row[3] = {of(own, own->next)->row, (void*)sizeof(double), (void*)sizeof(double)};
    lapi_vec_t from = {LAPI_GEN_STRIDED_XFER, SIDE, column, NULL};
    lapi_vec_t to = {LAPI_GEN_STRIDED_XFER, SIDE, row, NULL};
    for (int i = 0; i < SIDE; ++i) matrix[i][2] = 100 * own->me + i;
    must(LAPI_Putv(own->handle, (uint)own->next, &to, &from, &of(own, own->next)->arrived, NULL,
                   NULL));
    must(LAPI_Waitcntr(own->handle, &own->arrived, 1, NULL));
    const int before = (own->me + own->tasks - 1) % own->tasks;
    for (int i = 0; i < SIDE; ++i) check(own->row[i] == 100 * before + i, "a row is wrong");
}

struct question {
    struct tour* asked;
    struct tour* asking;
    uint asking_task;
};

/// At the target, when the data are there. It may wait, unlike the header handler.
static void answer(lapi_handle_t* handle, void* argument) {
    struct question* what = argument;
    long long sum = what->asked->received[0] + what->asked->received[1];
    lapi_cntr_t sent;
    LAPI_Setcntr(*handle, &sent, 0);
    LAPI_Put(*handle, what->asking_task, sizeof sum, &what->asking->sum, &sum,
             &what->asking->answered, NULL, &sent);
    LAPI_Waitcntr(*handle, &sent, 1, NULL);
    free(what);
}

static void* receive(lapi_handle_t* handle, void* uhdr, uint* uhdr_len, ulong* msg_len,
                     compl_hndlr_t** completion, void** argument) {
    struct question* what = malloc(sizeof *what);
    (void)handle;
    check(*uhdr_len == sizeof *what && *msg_len == sizeof what->asked->received,
          "a message of another size");
    memcpy(what, uhdr, sizeof *what);
    *completion = answer;
    *argument = what;
    return what->asked->received;
}

static void ask(struct tour* own) {
    struct question what = {of(own, own->next), own, (uint)own->me};
    int numbers[2] = {own->me, 40};
    must(LAPI_Amsend(own->handle, (uint)own->next, (void*)receive, &what, sizeof what, numbers,
                     sizeof numbers, NULL, NULL, NULL));
    must(LAPI_Waitcntr(own->handle, &own->answered, 1, NULL));
    check(own->sum == own->me + 40, "a sum is wrong");
}

int main(void) {
    struct tour own;
    memset(&own, 0, sizeof own);
    start(&own);
    greet(&own);
    draw(&own);
    send_column(&own);
    ask(&own);
    must(LAPI_Gfence(own.handle));
    if (own.me == 0)
        printf("%d tasks: puts, tickets, columns and questions are right\n", own.tasks);
    must(LAPI_Term(own.handle));
    free(own.tours);
}
