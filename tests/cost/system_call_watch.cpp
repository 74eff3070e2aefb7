// SPDX-License-Identifier: Apache-2.0
#include "cost/system_call_watch.hpp"

#include "machine/host.hpp"

#if defined(__x86_64__)
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <csignal>

namespace cost {
namespace {

constexpr int set_dispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11
constexpr unsigned long on = 1;
constexpr char let_pass = 0;
constexpr char announce = 1;
constexpr long long bytes_of_syscall = 2;  // the instruction

thread_local volatile char selector = let_pass;
thread_local volatile long first_call = -1;

/// Notes the call, lets all following ones pass, and has this one made again.
void on_announcement(int, siginfo_t* info, void* context) {
    selector = let_pass;
    first_call = info->si_syscall;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] -= bytes_of_syscall;
}

}  // namespace

bool system_call_watch::prepare() {
    if (selion::machine::is_sanitized()) return false;
    struct sigaction wanted {};
    wanted.sa_sigaction = on_announcement;
    wanted.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &wanted, nullptr);
    return prctl(set_dispatch, on, 0, 0, &selector) == 0;
}

void system_call_watch::start() {
    first_call = -1;
    selector = announce;
}

long system_call_watch::stop() {
    selector = let_pass;
    return first_call;
}

}  // namespace cost
#else
namespace cost {

bool system_call_watch::prepare() { return false; }
void system_call_watch::start() {}
long system_call_watch::stop() { return -1; }

}  // namespace cost
#endif
