// SPDX-License-Identifier: Apache-2.0
#include "machine/process/crash_handler.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/call_record.hpp"
#include "machine/host/host.hpp"
#include "machine/process/bounded_end.hpp"
#include "machine/process/last_words.hpp"

namespace selion::machine {
namespace {

constexpr std::array fatal_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr std::size_t stack_bytes = 64 * 1024;

/// Whether somebody else says what happened; set once before ranks start.
bool somebody_supervises = false;
pid_t handling_process = 0;  ///< the ranks' own
/// The thread that tells of its death; 0: none. Others that die meanwhile leave the word to it.
std::atomic<pid_t> teller = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);
/// What it does about that, for itself alone.
struct told_death {
    int signal = 0;
    bool is_to_be_said = false;  ///< that it died, and has not been yet
    std::array<char, 200> short_text{};
};
told_death told;

/// Whether the fault lies where the stack would grow to: at its pointer, or in the frame above it.
/// Memory there is mapped unless it is beyond the end of the stack.
bool is_beyond_stack([[maybe_unused]] std::uint64_t address,
                     [[maybe_unused]] const ucontext_t& at) {
#if defined(__x86_64__)
    const auto pointer = static_cast<std::uint64_t>(at.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    const std::uint64_t pointer = at.uc_mcontext.sp;
#else
    const std::uint64_t pointer = 0;
#endif
    constexpr std::uint64_t below = 4096;  // a red zone, a push, a probe
    return pointer != 0 && address + below - pointer < largest_frame_bytes + below;
}

/// x86 tells no address where it is none that a program can have.
fault_place place_of(int number, const siginfo_t& info, const void* interrupted) {
    // A signal that was sent has its sender's number where faults have their address.
    if (info.si_code <= 0 || (number != SIGSEGV && number != SIGBUS)) return fault_place::none;
    if (info.si_code == SI_KERNEL && info.si_addr == nullptr) return fault_place::no_address;
    const bool is_beyond =
        number == SIGSEGV && is_beyond_stack(reinterpret_cast<std::uint64_t>(info.si_addr),
                                             *static_cast<const ucontext_t*>(interrupted));
    return is_beyond ? fault_place::stack_end : fault_place::address;
}

void print_death(const detail::rank_context& rank, int number) {
    // Building the sentence allocates. That may wait for ever, where the crash has happened inside
    // the allocator, or crash itself, where what is wrong is the heap.
    const auto text = fmt::format_to_n(
        told.short_text.data(), told.short_text.size() - 1,
        "selion: rank {} of {} died of signal {}, and more could not be told, as where it has "
        "written beyond a block of the heap; it ends\n",
        rank.rank, rank.ranks, number);
    *text.out = '\0';
    told.is_to_be_said = true;
    die_within(1, number, told.short_text.data());
    base::say(fmt::format("rank {} of {} died of {} (signal {}){}, {}; {}", rank.rank, rank.ranks,
                          strsignal(number), number, crash_place_text(*rank.call),
                          last_call_text(*rank.call),
                          rank.deaths != nullptr ? "the others go on" : "the job ends"));
    told.is_to_be_said = false;
    die_within(1, number, "");  // it is told
}

/// For the thread that tells of its death, and has died of that.
void end_telling() {
    if (told.is_to_be_said) {
        // Nobody can be told that it could not be written.
        [[maybe_unused]] const ssize_t written =
            write(STDERR_FILENO, told.short_text.data(), std::strlen(told.short_text.data()));
    }
    die_of(told.signal);
}

/// Ranks that make the same mistake die at the same time, and the first to end the process would
/// cut the other short. Returns to the one that is to tell.
void wait_for_teller(int number) {
    pid_t first = 0;
    if (teller.compare_exchange_strong(first, gettid(), std::memory_order_relaxed)) {
        told.signal = number;
        return;
    }
    if (first == gettid()) end_telling();
    while (true) pause();  // until the process ends
}

/// While it lives, the thread may die in the handler, and get there once more.
class open_to_deaths {
public:
    open_to_deaths() {
        sigset_t fatal;
        sigemptyset(&fatal);
        for (const int number : fatal_signals) sigaddset(&fatal, number);
        pthread_sigmask(SIG_UNBLOCK, &fatal, &before_);
    }
    ~open_to_deaths() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    open_to_deaths(const open_to_deaths&) = delete;
    open_to_deaths& operator=(const open_to_deaths&) = delete;

private:
    sigset_t before_{};
};

void on_fatal_signal(int number, siginfo_t* info, void* interrupted) {
    const detail::rank_context& context = *detail::current_context;
    // A child that a rank has forked is no rank.
    if (context.ranks != 0 && getpid() == handling_process) {
        wait_for_teller(number);
        const open_to_deaths while_telling;
        const fault_place place = place_of(number, *info, interrupted);
        publish(context.call->crash_place, static_cast<std::uint32_t>(place));
        const std::uint32_t own_thread = look_at(context.call->thread_id);
        const bool is_beside =
            own_thread != 0 && own_thread != static_cast<std::uint32_t>(gettid());
        if (is_beside) publish(context.call->stack_kib, 0);  // it has a stack of its own
        publish(context.call->crash_address, reinterpret_cast<std::uint64_t>(info->si_addr));
        publish(context.call->crash_signal, static_cast<std::uint32_t>(number));
        if (somebody_supervises) {
            keep_site(*context.call);
        } else {
            print_death(context, number);
        }
        say_last_words_from_handler();
    }
    // Returning repeats the fault and ends the process; a signal that was sent from outside is
    // sent again.
    ::signal(number, SIG_DFL);
    raise(number);
}

}  // namespace

void install_crash_handler(bool is_supervised) {
    if (is_sanitized() || !base::knob_is_on(base::knob::crash_report)) return;
    somebody_supervises = is_supervised;
    handling_process = getpid();
    for (const int number : fatal_signals) {
        if (!is_handled_by(number, SIG_DFL)) continue;
        struct sigaction wanted {};
        wanted.sa_sigaction = on_fatal_signal;
        wanted.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(number, &wanted, nullptr);
    }
}

signal_stack::signal_stack() {
    if (is_sanitized()) return;
    stack_t own{};
    // The thread is the program's, and has seen to it itself.
    if (sigaltstack(nullptr, &own) == 0 && (own.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    const stack_t wanted{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = stack_bytes};
    sigaltstack(&wanted, nullptr);
}

signal_stack::~signal_stack() {
    if (memory_ == nullptr) return;
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
}

}  // namespace selion::machine
