// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/worker_loop.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/exception_text.hpp"
#include "machine/host/host.hpp"
#include "machine/machine.hpp"
#include "machine/node/patience.hpp"
#include "machine/workers/worker_bell.hpp"

namespace selion::machine::workers {
namespace {

/// For its lifetime no other process of the pool prints: a pipe takes a long text in pieces. The
/// kernel ends the turn of one that dies.
class turn_to_print {
public:
    /// @param file that they have in common; below 0: they are threads, and take turns anyway.
    explicit turn_to_print(int file) : file_(file) { change(F_WRLCK); }
    ~turn_to_print() { change(F_UNLCK); }
    turn_to_print(const turn_to_print&) = delete;
    turn_to_print& operator=(const turn_to_print&) = delete;

private:
    void change(short to) const {
        struct flock whole {};
        whole.l_type = to;
        while (file_ >= 0 && fcntl(file_, F_SETLKW, &whole) != 0 && errno == EINTR) {
        }
    }

    int file_;
};

class local_services final : public detail::worker_services {
public:
    local_services(std::uint32_t number, int file) : number_(number), file_(file) {}

    std::uint32_t number() const override { return number_; }
    bool is_cancelled() const override { return notice() == call_notice::given_up; }
    void print(std::string_view text) override {
        const turn_to_print mine(file_);
        print_here(text);
    }
    std::string read_file(const std::string& path) override { return read_here(path); }
    void take(call_request& request) { request_ = &request; }
    bool is_to_be_skipped() const { return notice() != call_notice::none; }

private:
    call_notice notice() const {
        return std::atomic_ref(request_->notice).load(std::memory_order_relaxed);
    }

    std::uint32_t number_;
    int file_;
    call_request* request_ = nullptr;
};

/// Where host and worker share a processor although there are others, each keeps it from the other
/// while it looks for news, and the kernel takes milliseconds to part them. So the worker goes to
/// another one; after that it is free to move.
void move_aside(const worker_place& place) {
    cpu_set_t allowed;
    const int host = std::atomic_ref(place.head.host_processor).load(std::memory_order_relaxed);
    if (host != sched_getcpu()) return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    std::vector<int> others;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        const bool is_other = processor != host;
        if (CPU_ISSET(processor, &allowed) && is_other) others.push_back(processor);
    }
    if (others.empty()) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    CPU_SET(others[place.number % others.size()], &wanted);
    if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
}

void await_turn(const worker_place& place, detail::turn_record& yields, const call_request& request,
                std::uint64_t turn) {
    const node::patience looking{place.head.waiting.spin_ns, 0};
    const node::patience yielding{0, place.head.waiting.yield_ns};
    const auto has_come = [&] { return read_turn(request.turn) == turn; };
    const auto comes = [&](const node::patience& how) {
        return node::stay_awake({how, node::turn_watch(yields), no_deadline}, has_come) ==
               node::idle_outcome::arrived;
    };
    if (has_come()) return;
    while (!comes(looking)) {
        move_aside(place);
        if (comes(yielding)) return;
        sleep_on_bell(place.area.bell, place.is_process, no_deadline, has_come);
    }
}

void keep_text(call_text& place, call_reply& reply, const std::string& text) {
    reply.text_bytes = static_cast<std::uint32_t>(std::min(text.size(), most_error_text));
    std::memcpy(place.bytes.data(), text.data(), reply.text_bytes);
}

}  // namespace

call_outcome run_routine(const detail::routine_entry* which, detail::routine_call_frame& frame,
                         std::string& text, const process_mark& server) noexcept {
    if (which == nullptr) return call_outcome::unknown_routine;
    try {
        which->invoke(which->function, frame);
        if (!server.is_own()) _exit(EXIT_SUCCESS);
        return call_outcome::done;
    } catch (...) {
        if (!server.is_own()) _exit(EXIT_FAILURE);
        text = base::type_name_of_current_exception() + '\0' + base::text_of_current_exception();
        return call_outcome::thrown;
    }
}

void serve_calls(const worker_place& place,
                 const std::vector<const detail::routine_entry*>& routines) {
    move_aside(place);
    local_services services(place.number, place.file);
    worker self(services);
    const process_mark own_process;
    std::string text;
    detail::turn_record yields;
    for (std::uint64_t turn = 1;; ++turn) {
        call_request& request = place.area.request(turn);
        call_reply& reply = place.area.reply(turn);
        await_turn(place, yields, request, turn);
        if (request.routine == stop_routine) return;
        services.take(request);
        if (services.is_to_be_skipped()) {
            reply.outcome = call_outcome::cancelled;
        } else {
            std::atomic_ref(place.area.begun).store(turn, std::memory_order_relaxed);
            detail::routine_call_frame frame{request.words.data(), reply.results.data(),
                                             place.memory, self};
            const detail::routine_entry* const which =
                request.routine < routines.size() ? routines[request.routine] : nullptr;
            const bool measures = place.head.measures != 0;
            const std::int64_t start_ns = measures ? host_time_ns() : 0;
            reply.outcome = run_routine(which, frame, text, own_process);
            if (measures) reply.busy_ns = static_cast<std::uint64_t>(host_time_ns() - start_ns);
            if (reply.outcome == call_outcome::thrown) {
                keep_text(place.area.text(turn), reply, text);
            }
        }
        write_turn(reply.turn, turn);
        // Its fence also keeps the look at the next call's notice behind the reply.
        ring_bell(place.head.host_bell, place.is_process);
    }
}

}  // namespace selion::machine::workers
