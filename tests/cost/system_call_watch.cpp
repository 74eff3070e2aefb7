// SPDX-License-Identifier: Apache-2.0
#include "cost/system_call_watch.hpp"

#include "machine/host/host.hpp"

#if defined(__x86_64__)
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace cost {
namespace {

constexpr int set_dispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11
constexpr unsigned long on = 1;
constexpr char let_pass = 0;
constexpr char announce = 1;
constexpr std::size_t most_calls = 64;
/// The C library's code that leaves a handler: two instructions, the second is the system call.
constexpr unsigned long bytes_of_return = 16;

thread_local volatile char selector = let_pass;
thread_local std::array<long, most_calls> calls;
thread_local volatile std::size_t noted = 0;
thread_local void* return_of_handlers = nullptr;

long long make_call(const greg_t* registers) {
    long long result = registers[REG_RAX];
    register long long fourth asm("r10") = registers[REG_R10];
    register long long fifth asm("r8") = registers[REG_R8];
    register long long sixth asm("r9") = registers[REG_R9];
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(registers[REG_RDI]), "S"(registers[REG_RSI]), "d"(registers[REG_RDX]),
                   "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}

/// Notes the call, and makes it in place of who wanted to.
void on_announcement(int, siginfo_t* info, void* context) {
    selector = let_pass;
    greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (noted < most_calls) {
        calls[noted] = info->si_syscall;
        noted = noted + 1;
    }
    registers[REG_RAX] = info->si_syscall;
    registers[REG_RAX] = make_call(registers);
    selector = announce;
}

/// The kernel announces leaving a handler, too, unless it is told where that happens.
[[gnu::noinline]] void on_rehearsal(int, siginfo_t*, void*) {
    return_of_handlers = __builtin_return_address(0);
}

void handle(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction wanted {};
    wanted.sa_sigaction = handler;
    wanted.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &wanted, nullptr);
}

/// Ranks of one process share the handlers.
void find_return_of_handlers() {
    handle(on_rehearsal);
    raise(SIGSYS);
    handle(on_announcement);
}

}  // namespace

bool system_call_watch::prepare() {
    if (selion::machine::is_sanitized()) return false;
    static const auto found = (find_return_of_handlers(), return_of_handlers);
    return prctl(set_dispatch, on, found, bytes_of_return, &selector) == 0;
}

void system_call_watch::start() {
    noted = 0;
    selector = announce;
}

std::span<const long> system_call_watch::stop() {
    selector = let_pass;
    return {calls.data(), noted};
}

}  // namespace cost
#else
namespace cost {

bool system_call_watch::prepare() { return false; }
void system_call_watch::start() {}
std::span<const long> system_call_watch::stop() { return {}; }

}  // namespace cost
#endif
