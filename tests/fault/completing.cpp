// SPDX-License-Identifier: Apache-2.0
// completing HOW [MILLISECONDS]: completion handlers that may wait, at the edges of a job.

#include <unistd.h>
#include <selion/selion.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// What a rank's handlers find in its memory.
struct desk {
    selion::signal never;
    selion::signal done;
    std::uint32_t ranks;
};

struct errand {
    selion::global_ptr<desk> where;
    std::uint32_t hops;  ///< that follow
};

struct kept_errand {
    errand what;
    selion::rank_id origin;
};

using completion_function = void (*)(void*);

void send_errand(const errand& what, completion_function completion,
                 const selion::counters& when = {}) {
    struct order {
        errand what;
        std::uint64_t completion;
    };
    selion::send(
        what.where.rank(),
        [](const order& came, selion::message_info about) {
            return selion::arrival{.completion = reinterpret_cast<completion_function>(
                                       selion::detail::decode_function(came.completion)),
                                   .argument = new kept_errand{came.what, about.origin},
                                   .may_wait = true};
        },
        order{what, selion::detail::encode_function(completion)}, {}, when);
}

/// Asks the sender something, says so, and sends it on.
void pass_on(void* argument) {
    const kept_errand kept = *static_cast<kept_errand*>(argument);
    delete static_cast<kept_errand*>(argument);
    const selion::global_ptr<desk> where = kept.what.where;
    const std::uint32_t answer =
        selion::rpc(kept.origin, [](std::uint32_t x) { return x + 1; }, kept.what.hops).get();
    if (answer != kept.what.hops + 1 || write(STDOUT_FILENO, "completed\n", 10) < 0) return;
    if (kept.what.hops == 0) return;
    const selion::rank_id next = (where.rank() + 1) % where.local()->ranks;
    send_errand({where.on(next), kept.what.hops - 1}, pass_on);
}

void ask_and_tell(void* argument) {
    const kept_errand kept = *static_cast<kept_errand*>(argument);
    delete static_cast<kept_errand*>(argument);
    const int answer = selion::rpc(kept.origin, [](int x) { return x; }, 1).get();
    selion::notify(kept.what.where.member(&desk::done),
                   selion::signal_add(static_cast<std::uint64_t>(answer)));
}

void wait_for_ever(void* argument) {
    const kept_errand kept = *static_cast<kept_errand*>(argument);
    delete static_cast<kept_errand*>(argument);
    selion::wait_until(kept.what.where.member(&desk::never), 1);  // site: stuck
}

/// Everybody has used its completion handlers, and then waits for a long time.
void be_idle(selion::world& world, selion::global_ptr<desk> desks,
             std::chrono::milliseconds duration) {
    const selion::rank_id next = (world.rank() + 1) % world.size();
    send_errand({desks.on(next), 0}, ask_and_tell);
    const auto own = desks.on(world.rank());
    selion::wait_until(own.member(&desk::done), 1);
    world.barrier();
    if (selion::wait_until(own.member(&desk::never), 1, duration)) std::puts("never");
}

/// Rank 0 returns, and is wanted all the same.
void serve_after_the_end(selion::world& world, selion::global_ptr<desk> desks) {
    if (world.rank() == 0) return;
    selion::counter complete;
    for (int i = 0; i < 3; ++i) {
        send_errand({desks.on(0), 0}, ask_and_tell, {.completion = &complete});
        if (i == 1) complete.wait(2);
    }
    complete.wait(1);
    std::puts("complete");
}

/// Messages that handlers send when the ranks' functions have returned.
struct relay {
    std::uint32_t hops;    ///< that follow
    std::uint32_t number;  ///< of the last handler's
};
constexpr std::uint32_t last_messages = 5000;  // more than a ring holds

selion::arrival take_one_of_many(const relay& came, selion::message_info) {
    if (came.number + 1 == last_messages && write(STDOUT_FILENO, "many\n", 5) < 0) std::abort();
    return {};
}

selion::arrival pass_back(const relay& came, selion::message_info about) {
    if (came.hops != 0) {
        selion::send(about.origin, pass_back, relay{came.hops - 1, 0});
        return {};
    }
    if (write(STDOUT_FILENO, "passed\n", 7) < 0) std::abort();
    for (std::uint32_t i = 0; i < last_messages; ++i) {
        selion::send(about.origin, take_one_of_many, relay{0, i});
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    const std::chrono::milliseconds duration(argc > 2 ? std::atoi(argv[2]) : 0);
    return selion::run(argc, argv, [&](selion::world& world) {
        const auto desks = selion::allocate<desk>(world, 1);
        desks.local()->ranks = world.size();
        world.barrier();
        const selion::rank_id next = (world.rank() + 1) % world.size();
        if (how == "last") send_errand({desks.on(next), 3}, pass_on);
        if (how == "relay" && world.rank() == 0) selion::send(next, pass_back, relay{1000, 0});
        if (how == "after") serve_after_the_end(world, desks);
        if (how == "idle") be_idle(world, desks, duration);
        if (how == "stuck") {
            if (world.rank() == 0) send_errand({desks.on(1), 0}, wait_for_ever);
            world.barrier();  // site: meet
        }
    });  // site: end
}
