// SPDX-License-Identifier: Apache-2.0
/// What LAPI's calls wait for, and what completion handlers see meanwhile.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "conformance/lapi_task.hpp"

namespace {

using spmd::lapi_task;

constexpr std::size_t long_put = 1 << 20;

/// What a completion handler looks at, and what it saw.
struct witness {
    lapi_cntr_t looked_at = {};
    int seen = -1;
    bool is_over = false;  ///< the wait for it
    bool came_late = false;
    lapi_cntr_t has_run = {};
    const std::byte* place = nullptr;  ///< of another task of the process
    std::byte found = {};
};

void look(lapi_handle_t* handle, void* user_info) {
    auto& one = *static_cast<witness*>(user_info);
    one.came_late = one.is_over;
    LAPI_Getcntr(*handle, &one.looked_at, &one.seen);
}

void fence_and_look(lapi_handle_t* handle, void* user_info) {
    LAPI_Fence(*handle);
    auto& one = *static_cast<witness*>(user_info);
    if (one.place != nullptr) one.found = *one.place;
    look(handle, user_info);
}

template <compl_hndlr_t* then>
void* call(lapi_handle_t*, void* uhdr, uint*, ulong*, compl_hndlr_t** completion, void** info) {
    *completion = then;
    *info = *static_cast<void**>(uhdr);
    return nullptr;
}

/// Has a completion handler of a task run.
template <compl_hndlr_t* then>
void send_call(const lapi_task& own, uint to, witness* which) {
    own.good(LAPI_Amsend(own.handle, to, reinterpret_cast<void*>(call<then>), &which, sizeof which,
                         nullptr, 0, &which->has_run, nullptr, nullptr));
}

SPMD_TEST(lapi_waits, a_fence_in_a_completion_handler_waits_as_well) {
    const lapi_task own(test, world);
    std::vector<std::byte> area(long_put);
    const auto areas = own.exchange(area.data());
    const std::vector<std::byte> sent(long_put, std::byte{9});
    const bool is_one_process = world.machine().processes == 1;
    witness one;
    if (is_one_process) one.place = areas[own.next] + long_put - 1;
    own.meet();
    send_call<fence_and_look>(own, world.rank(), &one);
    own.good(LAPI_Put(own.handle, own.next, long_put, areas[own.next],
                      const_cast<std::byte*>(sent.data()), nullptr, nullptr, nullptr));
    own.good(LAPI_Fence(own.handle));
    own.wait(one.has_run);
    if (is_one_process) test.that(one.found == std::byte{9}, "the handler finds the data there");
    own.meet();
    test.that(area == sent, "the data are there");
    own.meet();
}

void fence(lapi_handle_t* handle, void*) { LAPI_Fence(*handle); }

/// The get waits for room, and meanwhile the handler's fence for what has been asked for by then.
SPMD_TEST(lapi_waits, a_fence_within_a_get_is_not_the_gets) {
    const lapi_task own(test, world);
    constexpr std::size_t bytes = 20 << 18;  // of more messages than may be under way
    std::vector<std::byte> source(world.rank() == 1 % world.size() ? bytes : 0, std::byte{7});
    const auto sources = own.exchange(source.data());
    if (world.rank() == 0) {
        std::vector<std::byte> here(bytes);
        witness one;
        send_call<fence>(own, 0, &one);
        own.good(LAPI_Get(own.handle, own.next, bytes, sources[own.next], here.data(), nullptr,
                          nullptr));
        own.good(LAPI_Fence(own.handle));
        test.equal(std::ranges::count(here, std::byte{7}), static_cast<std::ptrdiff_t>(bytes));
        own.wait(one.has_run);
    }
    own.meet();
}

SPMD_TEST(lapi_waits, a_fence_waits_for_counters_of_completion) {
    const lapi_task own(test, world);
    own.good(LAPI_Senv(own.handle, INTERRUPT_SET, 0));  // to look at a counter serves nothing
    std::array<int, 2> place{};
    const auto places = own.exchange(place.data());
    int late = 0;
    for (int i = 0; i < 200; ++i) {
        lapi_cntr_t complete{};
        own.good(LAPI_Put(own.handle, own.next, sizeof(int), places[own.next], &i, nullptr, nullptr,
                          &complete));
        own.good(LAPI_Fence(own.handle));
        if (own.value(complete) != 1) ++late;
        if (own.value(complete) != 1) own.wait(complete);
    }
    test.equal(late, 0);
    own.meet();
}

/// How often a completion handler has run that has itself run again.
struct chain {
    static constexpr int most = 1000;
    uint self = 0;
    int runs = 0;
};

void run_again(lapi_handle_t* handle, void* user_info) {
    auto* one = static_cast<chain*>(user_info);
    if (++one->runs == chain::most) return;
    LAPI_Amsend(*handle, one->self, reinterpret_cast<void*>(call<run_again>), &one, sizeof one,
                nullptr, 0, nullptr, nullptr, nullptr);
    LAPI_Probe(*handle);
}

SPMD_TEST(lapi_waits, completion_handlers_that_follow_keep_nobody) {
    const lapi_task own(test, world);
    chain one{.self = world.rank()};
    lapi_handle_t handle = own.handle;
    run_again(&handle, &one);
    int probes = 1;
    for (; one.runs != chain::most; ++probes) own.good(LAPI_Probe(own.handle));
    test.at_least(probes, chain::most / 4);
    own.meet();
}

SPMD_TEST(lapi_waits, in_its_second_life_a_task_runs_what_was_left) {
    lapi_handle_t handle = 0;
    lapi_info_t info{};
    test.equal(LAPI_Init(&handle, &info), int{LAPI_SUCCESS});
    witness* nobody = nullptr;
    lapi_cntr_t complete{};
    if (world.rank() != 0) {
        LAPI_Amsend(handle, 0, reinterpret_cast<void*>(call<fence>), &nobody, sizeof nobody,
                    nullptr, 0, nullptr, nullptr, &complete);
        LAPI_Waitcntr(handle, &complete, 1, nullptr);
    }
    test.equal(LAPI_Term(handle), int{LAPI_SUCCESS});
    const lapi_task own(test, world);
}

SPMD_TEST(lapi_waits, a_counter_stays_whole_until_all_is_there) {
    const lapi_task own(test, world);
    witness one;
    const auto all = own.exchange(&one);
    own.good(LAPI_Setcntr(own.handle, &one.looked_at, 2));
    own.meet();
    send_call<look>(own, own.next, all[own.next]);
    own.good(LAPI_Fence(own.handle));
    own.good(LAPI_Put(own.handle, own.next, 0, nullptr, nullptr, &all[own.next]->looked_at, nullptr,
                      nullptr));
    own.wait(one.looked_at, 3);
    one.is_over = true;
    own.wait(one.has_run);
    test.that(one.came_late || one.seen == 2 || one.seen == 3, "nothing was taken off before");
    test.equal(own.value(one.looked_at), 0);
    own.meet();
}

SPMD_TEST(lapi_waits, who_waits_for_nothing_makes_progress) {
    const lapi_task own(test, world);
    lapi_cntr_t arrived{};
    const auto counters = own.exchange(&arrived);
    own.good(
        LAPI_Put(own.handle, own.next, 0, nullptr, nullptr, counters[own.next], nullptr, nullptr));
    for (int value = 0; value == 0;) own.good(LAPI_Waitcntr(own.handle, &arrived, 0, &value));
    own.meet();
}

SPMD_TEST(lapi_waits, a_negative_counter_is_awaited) {
    const lapi_task own(test, world);
    lapi_cntr_t arrived{};
    const auto counters = own.exchange(&arrived);
    own.good(LAPI_Setcntr(own.handle, &arrived, -2));
    own.meet();
    for (int i = 0; i < 2; ++i) {
        own.good(LAPI_Put(own.handle, own.next, 0, nullptr, nullptr, counters[own.next], nullptr,
                          nullptr));
    }
    int left = -1;
    own.good(LAPI_Waitcntr(own.handle, &arrived, 0, &left));
    test.equal(left, 0);
    own.meet();
}

SPMD_TEST(lapi_waits, a_get_leaves_room_that_it_does_not_fill) {
    const lapi_task own(test, world);
    std::vector<unsigned char> theirs(50);
    std::iota(theirs.begin(), theirs.end(), static_cast<unsigned char>(world.rank()));
    const auto places = own.exchange(theirs.data());
    std::vector<unsigned char> here(100, 0xEE);
    void* from[] = {places[own.next], places[own.next] + 20};
    ulong from_bytes[] = {20, 30};
    void* to[] = {here.data(), here.data() + 60};
    ulong to_bytes[] = {60, 40};
    lapi_vec_t target{LAPI_GEN_GENERIC, 2, from, from_bytes};
    lapi_vec_t origin{LAPI_GEN_GENERIC, 2, to, to_bytes};
    lapi_cntr_t done{};
    own.good(LAPI_Getv(own.handle, own.next, &target, &origin, nullptr, &done));
    own.wait(done);
    std::vector<unsigned char> expected(50);
    std::iota(expected.begin(), expected.end(), static_cast<unsigned char>(own.next));
    test.that(std::equal(expected.begin(), expected.end(), here.begin()), "the bytes came");
    test.that(std::all_of(here.begin() + 50, here.end(), [](int x) { return x == 0xEE; }),
              "the rest is as it was");
    to_bytes[1] = 0;
    from_bytes[1] = 41;
    test.equal(LAPI_Getv(own.handle, own.next, &target, &origin, nullptr, &done),
               int{LAPI_ERR_VEC_LEN_DIFF});
    own.meet();
}

SPMD_TEST(lapi_waits, more_pieces_than_a_message_has_room_for_are_refused) {
    const lapi_task own(test, world);
    constexpr std::size_t pieces = 600'000;
    if (selion::detail::most_message_bytes() > pieces * sizeof(ulong)) return;  // simulated
    char byte = 7;
    std::vector<void*> places(pieces, &byte);
    std::vector<ulong> lengths(pieces, 1);
    lapi_vec_t origin{LAPI_GEN_IOVECTOR, pieces, places.data(), lengths.data()};
    test.equal(LAPI_Amsendv(own.handle, own.next, reinterpret_cast<void*>(call<look>), nullptr, 0,
                            &origin, nullptr, nullptr, nullptr),
               int{LAPI_ERR_ORG_VEC_LEN});
    void* strided[] = {&byte, nullptr, nullptr};  // blocks of no bytes
    lapi_vec_t nothing{LAPI_GEN_STRIDED_XFER, 4'000'000'000, strided, nullptr};
    test.equal(LAPI_Amsendv(own.handle, own.next, reinterpret_cast<void*>(call<look>), nullptr, 0,
                            &nothing, nullptr, nullptr, nullptr),
               int{LAPI_ERR_ORG_VEC_LEN});
    own.meet();
}

}  // namespace
