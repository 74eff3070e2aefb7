// SPDX-License-Identifier: Apache-2.0
/// LAPI's functions between all tasks, to and from memory of any kind.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "conformance/lapi_task.hpp"

namespace {

using spmd::lapi_task;

std::vector<unsigned char> pattern(std::size_t bytes, std::uint32_t seed) {
    std::vector<unsigned char> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<unsigned char>(i * 7 + seed);
    return made;
}

constexpr std::size_t transfer_sizes[] = {0, 1, 8, 100, 5000, 256 * 1024, 700 * 1000};
constexpr std::size_t largest = 700 * 1000;
constexpr unsigned char untouched = 0xEE;

SPMD_TEST(lapi, puts_of_all_sizes_and_their_counters) {
    const lapi_task own(test, world);
    std::vector<unsigned char> inbox(largest + 1);
    lapi_cntr_t arrived{};
    const auto inboxes = own.exchange(inbox.data());
    const auto counters = own.exchange(&arrived);
    for (const std::size_t bytes : transfer_sizes) {
        std::ranges::fill(inbox, untouched);
        own.meet();
        lapi_cntr_t reusable{}, complete{};
        auto sent = pattern(bytes, world.rank());
        own.good(LAPI_Put(own.handle, own.next, bytes, inboxes[own.next], sent.data(),
                          counters[own.next], &reusable, &complete));
        own.wait(reusable);
        std::ranges::fill(sent, untouched);
        own.wait(arrived);
        const auto expected = pattern(bytes, own.before);
        test.that(std::ranges::equal(expected, std::span(inbox).first(bytes)),
                  "the bytes came over");
        test.equal(inbox[bytes], untouched);
        own.wait(complete);
        test.equal(own.value(complete) + own.value(arrived) + own.value(reusable), 0);
    }
    own.meet();
}

SPMD_TEST(lapi, gets_of_all_sizes_and_their_counters) {
    const lapi_task own(test, world);
    auto shown = pattern(largest, world.rank());
    lapi_cntr_t read{};
    const auto sources = own.exchange(shown.data());
    const auto counters = own.exchange(&read);
    for (const std::size_t bytes : transfer_sizes) {
        lapi_cntr_t here{};
        std::vector<unsigned char> got(bytes + 1, untouched);
        own.good(LAPI_Get(own.handle, own.next, bytes, sources[own.next], got.data(),
                          counters[own.next], &here));
        own.wait(here);
        const auto expected = pattern(bytes, own.next);
        test.that(std::ranges::equal(expected, std::span(got).first(bytes)), "the bytes came over");
        test.equal(got[bytes], untouched);
        own.wait(read);
    }
    own.meet();
}

SPMD_TEST(lapi, more_gets_than_may_be_under_way) {
    constexpr std::uint32_t count = 50;
    const lapi_task own(test, world);
    std::vector<std::uint32_t> shown(count);
    for (std::uint32_t i = 0; i < count; ++i) shown[i] = 100 * world.rank() + i;
    const auto sources = own.exchange(shown.data());
    std::vector<std::uint32_t> got(count);
    lapi_cntr_t here{};
    for (std::uint32_t i = 0; i < count; ++i) {
        own.good(LAPI_Get(own.handle, own.next, sizeof got[i], sources[own.next] + i, &got[i],
                          nullptr, &here));
    }
    own.good(LAPI_Waitcntr(own.handle, &here, count, nullptr));
    for (std::uint32_t i = 0; i < count; ++i) test.equal(got[i], 100 * own.next + i);
    own.meet();
}

SPMD_TEST(lapi, a_fence_waits_for_puts_and_gets_without_counters) {
    const lapi_task own(test, world);
    std::vector<std::uint32_t> inbox(world.size());
    const auto inboxes = own.exchange(inbox.data());
    for (std::uint32_t round = 1; round <= test.rounds(40); ++round) {
        const std::uint32_t value = world.rank() + round;
        for (std::uint32_t to = 0; to < world.size(); ++to) {
            std::uint32_t* const place = inboxes[to] + std::uint32_t{world.rank()};
            own.good(LAPI_Put(own.handle, to, sizeof value, place, const_cast<uint*>(&value),
                              nullptr, nullptr, nullptr));
        }
        std::uint32_t back = 0;
        own.good(LAPI_Get(own.handle, own.next, sizeof back,
                          inboxes[own.next] + std::uint32_t{world.rank()}, &back, nullptr,
                          nullptr));
        own.good(LAPI_Fence(own.handle));
        test.equal(back, value);
        own.meet();
        for (std::uint32_t from = 0; from < world.size(); ++from) {
            test.equal(inbox[from], from + round);
        }
        own.meet();
    }
}

SPMD_TEST(lapi, vectors_strided_and_listed) {
    const lapi_task own(test, world);
    constexpr std::size_t count = 30000;  // more than a message holds
    std::vector<std::uint64_t> inbox(2 * count, 1);
    lapi_cntr_t arrived{};
    const auto inboxes = own.exchange(inbox.data());
    const auto counters = own.exchange(&arrived);
    std::vector<std::uint64_t> dense(count);
    std::iota(dense.begin(), dense.end(), 1000 * std::uint64_t{world.rank()});
    const auto number = [](std::uint64_t value) { return reinterpret_cast<void*>(value); };
    void* there[] = {inboxes[own.next], number(8), number(16)};
    void* here[] = {dense.data(), number(8), number(8)};
    lapi_vec_t target{LAPI_GEN_STRIDED_XFER, count, there, nullptr};
    lapi_vec_t origin{LAPI_GEN_STRIDED_XFER, count, here, nullptr};
    own.good(
        LAPI_Putv(own.handle, own.next, &target, &origin, counters[own.next], nullptr, nullptr));
    own.wait(arrived);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
        wrong += inbox[2 * i] != 1000 * std::uint64_t{own.before} + i || inbox[2 * i + 1] != 1;
    }
    test.equal(wrong, 0u);
    own.meet();

    lapi_cntr_t got{};
    std::ranges::fill(dense, 0);
    own.good(LAPI_Getv(own.handle, own.next, &target, &origin, nullptr, &got));
    own.wait(got);
    for (std::size_t i = 0; i < count; ++i) wrong += dense[i] != 1000 * world.rank() + i;
    test.equal(wrong, 0u);
    own.meet();
}

SPMD_TEST(lapi, generic_vectors_are_filled_one_behind_the_other) {
    const lapi_task own(test, world);
    std::string inbox(20, '.');
    const auto inboxes = own.exchange(inbox.data());
    std::string first = "abcde", second = "fgh";
    void* from[] = {first.data(), nullptr, second.data()};
    ulong from_bytes[] = {5, 0, 3};
    void* to[] = {inboxes[own.next], inboxes[own.next] + 10};
    ulong to_bytes[] = {2, 7};
    lapi_vec_t target{LAPI_GEN_GENERIC, 2, to, to_bytes};
    lapi_vec_t origin{LAPI_GEN_GENERIC, 3, from, from_bytes};
    own.good(LAPI_Putv(own.handle, own.next, &target, &origin, nullptr, nullptr, nullptr));
    own.meet();
    test.equal(inbox, std::string("ab........cdefgh...."));
    own.meet();
}

template <class Integer, class Rmw>
void check_rmw(spmd::test_run& test, selion::world& world, Rmw rmw) {
    const lapi_task own(test, world);
    Integer cell = 0;
    const auto cells = own.exchange(&cell);
    lapi_cntr_t done{};
    const auto apply = [&](RMW_ops_t op, uint to, std::vector<Integer> input) {
        Integer previous = -1;
        own.good(rmw(own.handle, op, to, cells[to], input.data(), &previous, &done));
        own.wait(done);
        return previous;
    };
    for (int i = 0; i < 10; ++i) apply(FETCH_AND_ADD, 0, {3});
    own.meet();
    const auto sum = static_cast<Integer>(30 * world.size());
    if (world.rank() == 0) test.equal(cell, sum);
    own.meet();
    const auto mine = static_cast<Integer>(world.rank());
    test.equal(apply(SWAP, own.next, {mine}), own.next == 0 ? sum : 0);
    test.equal(apply(FETCH_AND_OR, own.next, {64}), mine);
    test.equal(apply(COMPARE_AND_SWAP, own.next, {mine, 5}), Integer{0});
    test.equal(apply(COMPARE_AND_SWAP, own.next, {mine | 64, 5}), Integer{1});
    test.equal(apply(FETCH_AND_ADD, own.next, {0}), Integer{5});
    own.meet();
}

SPMD_TEST(lapi, rmw_of_32_bits) { check_rmw<int>(test, world, LAPI_Rmw); }
SPMD_TEST(lapi, rmw_of_64_bits) { check_rmw<long long>(test, world, LAPI_Rmw64); }

/// What active messages do to a task.
struct mailbox {
    uint shown = 0;
    uint fetched = 0;
    std::vector<unsigned char> data = {};
    std::vector<ulong> lengths = {};
    std::string header = {};
    lapi_cntr_t counter = {};
    void* pieces[2] = {};
    ulong piece_bytes[2] = {};
    lapi_vec_t places = {};
};

struct letter_head {
    mailbox* to;
    mailbox* from;
    uint origin;
    char text[8];
};

void* take_letter(lapi_handle_t*, void* uhdr, uint* uhdr_len, ulong* msg_len, compl_hndlr_t**,
                  void**) {
    const auto& head = *static_cast<letter_head*>(uhdr);
    head.to->header.assign(head.text, *uhdr_len - offsetof(letter_head, text));
    head.to->data.assign(*msg_len, untouched);
    return head.to->data.data();
}

/// Runs when the data are there, and may wait.
void fetch_from_origin(lapi_handle_t* handle, void* user_info) {
    const auto& head = *static_cast<letter_head*>(user_info);
    lapi_cntr_t here{};
    LAPI_Get(*handle, head.origin, sizeof(uint), &head.from->shown, &head.to->fetched, nullptr,
             &here);
    LAPI_Waitcntr(*handle, &here, 1, nullptr);
    delete &head;
}

void* take_and_fetch(lapi_handle_t* handle, void* uhdr, uint* uhdr_len, ulong* msg_len,
                     compl_hndlr_t** then, void** user_info) {
    *then = fetch_from_origin;
    *user_info = new letter_head(*static_cast<letter_head*>(uhdr));
    return take_letter(handle, uhdr, uhdr_len, msg_len, then, user_info);
}

SPMD_TEST(lapi, active_messages_of_all_sizes) {
    const lapi_task own(test, world);
    mailbox box;
    const auto boxes = own.exchange(&box);
    own.good(LAPI_Addr_set(own.handle, reinterpret_cast<void*>(take_letter), 7));
    own.meet();
    for (const std::size_t bytes : transfer_sizes) {
        letter_head head{boxes[own.next], &box, world.rank(), "letter"};
        lapi_cntr_t reusable{}, complete{};
        auto sent = pattern(bytes, world.rank());
        void* const name = bytes % 2 == 0 ? reinterpret_cast<void*>(take_letter)
                                          : reinterpret_cast<void*>(std::uint64_t{7});
        own.good(LAPI_Amsend(own.handle, own.next, name, &head, sizeof head - 8, sent.data(), bytes,
                             &boxes[own.next]->counter, &reusable, &complete));
        own.wait(reusable);
        std::ranges::fill(sent, untouched);
        own.wait(box.counter);
        test.that(box.data == pattern(bytes, own.before), "the bytes came over");
        test.equal(box.header, std::string("lett"));
        own.wait(complete);
        own.meet();
    }
}

SPMD_TEST(lapi, completion_handlers_may_wait) {
    const lapi_task own(test, world);
    mailbox box{.shown = world.rank() + 100};
    const auto boxes = own.exchange(&box);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{40}, largest}) {
        letter_head head{boxes[own.next], &box, world.rank(), "letter"};
        lapi_cntr_t complete{};
        auto sent = pattern(bytes, world.rank());
        box.fetched = 0;
        own.meet();
        own.good(LAPI_Amsend(own.handle, own.next, reinterpret_cast<void*>(take_and_fetch), &head,
                             sizeof head, sent.data(), bytes, &boxes[own.next]->counter, nullptr,
                             &complete));
        // Only in these waits can it run; both count after it.
        own.wait(complete);
        own.wait(box.counter);
        test.equal(box.fetched, own.before + 100);
        test.that(box.data == pattern(bytes, own.before), "the bytes came over");
    }
    own.meet();
}

SPMD_TEST(lapi, completion_handlers_run_while_others_are_awaited_in_a_barrier) {
    const lapi_task own(test, world);
    mailbox box{.shown = world.rank() + 5};
    const auto boxes = own.exchange(&box);
    if (world.rank() == 0) {
        for (uint to = 0; to < world.size(); ++to) {
            letter_head head{boxes[to], &box, 0, ""};
            lapi_cntr_t complete{};
            own.good(LAPI_Amsend(own.handle, to, reinterpret_cast<void*>(take_and_fetch), &head,
                                 sizeof head, nullptr, 0, nullptr, nullptr, &complete));
            own.wait(complete);
        }
    }
    own.meet();
    test.equal(box.fetched, 5u);
    own.meet();
}

lapi_vec_t* take_pieces(lapi_handle_t*, void* uhdr, uint*, ulong* lengths, compl_hndlr_t**,
                        void**) {
    mailbox& box = **static_cast<mailbox**>(uhdr);
    box.lengths.assign(lengths, lengths + 3);
    box.data.assign(24, untouched);
    box.pieces[0] = box.data.data();
    box.pieces[1] = box.data.data() + 12;
    box.piece_bytes[0] = 4;
    box.piece_bytes[1] = 11;
    box.places = {LAPI_GEN_GENERIC, 2, box.pieces, box.piece_bytes};
    return &box.places;
}

SPMD_TEST(lapi, active_messages_of_pieces) {
    const lapi_task own(test, world);
    mailbox box;
    const auto boxes = own.exchange(&box);
    mailbox* to = boxes[own.next];
    auto bytes = pattern(15, world.rank());
    void* from[] = {bytes.data(), bytes.data() + 7, bytes.data() + 9};
    ulong lengths[] = {7, 2, 6};
    lapi_vec_t origin{LAPI_GEN_IOVECTOR, 3, from, lengths};
    own.good(LAPI_Amsendv(own.handle, own.next, reinterpret_cast<void*>(take_pieces), &to,
                          sizeof to, &origin, &to->counter, nullptr, nullptr));
    own.wait(box.counter);
    test.that(box.lengths == std::vector<ulong>{7, 2, 6}, "the lengths came over");
    auto expected = pattern(15, own.before);
    expected.insert(expected.begin() + 4, 8, untouched);
    expected.push_back(untouched);
    test.that(box.data == expected, "the bytes came over");
    own.meet();
}

lapi_vec_t* take_no_pieces(lapi_handle_t*, void* uhdr, uint*, ulong*, compl_hndlr_t**, void**) {
    ++(*static_cast<mailbox**>(uhdr))->shown;
    return nullptr;
}

SPMD_TEST(lapi, active_messages_of_no_pieces_come_to_handlers_of_vectors) {
    const lapi_task own(test, world);
    mailbox box{};
    const auto boxes = own.exchange(&box);
    mailbox* to = boxes[own.next];
    for (const lapi_vectype_t type : {LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER, LAPI_GEN_GENERIC}) {
        lapi_vec_t nothing{type, 0, nullptr, nullptr};
        own.good(LAPI_Amsendv(own.handle, own.next, reinterpret_cast<void*>(take_no_pieces), &to,
                              sizeof to, &nothing, &to->counter, nullptr, nullptr));
    }
    for (int i = 0; i < 3; ++i) own.wait(box.counter);
    test.equal(box.shown, 3u);
    own.meet();
}

SPMD_TEST(lapi, in_interrupt_mode_a_counter_moves_while_it_is_looked_at) {
    const lapi_task own(test, world);
    lapi_cntr_t arrived{};
    const auto counters = own.exchange(&arrived);
    own.good(
        LAPI_Put(own.handle, own.next, 0, nullptr, nullptr, counters[own.next], nullptr, nullptr));
    while (own.value(arrived) == 0) {
    }
    own.good(LAPI_Setcntr(own.handle, &arrived, 3));
    test.equal(own.value(arrived), 3);
    int left = 0;
    own.good(LAPI_Waitcntr(own.handle, &arrived, 2, &left));
    test.equal(left, 1);
    own.good(LAPI_Waitcntr(own.handle, &arrived, 0, nullptr));

    own.good(LAPI_Senv(own.handle, INTERRUPT_SET, 0));
    own.good(LAPI_Setcntr(own.handle, &arrived, 0));
    own.meet();
    own.good(
        LAPI_Put(own.handle, own.next, 0, nullptr, nullptr, counters[own.next], nullptr, nullptr));
    while (own.value(arrived) == 0) own.good(LAPI_Probe(own.handle));
    own.meet();
}

SPMD_TEST(lapi, counters_of_any_memory) {
    const lapi_task own(test, world);
    lapi_cntr_t counter;
    std::memset(&counter, 0xA5, sizeof counter);
    own.good(LAPI_Setcntr(own.handle, &counter, -2));
    test.equal(own.value(counter), -2);
    char byte = 0;
    const auto bytes = own.exchange(&byte);
    for (int i = 0; i < 3; ++i) {
        own.good(
            LAPI_Put(own.handle, own.next, 1, bytes[own.next], &byte, nullptr, &counter, nullptr));
    }
    own.wait(counter, 1);
    test.equal(own.value(counter), 0);
    own.meet();
}

SPMD_TEST(lapi, exchanged_addresses) {
    const lapi_task own(test, world);
    for (std::uint64_t round = 0; round < test.rounds(20); ++round) {
        std::vector<lapi_long_t> all(world.size());
        own.good(LAPI_Address_init64(own.handle, world.rank() * 10 + round, all.data()));
        for (std::uint64_t i = 0; i < world.size(); ++i) test.equal(all[i], i * 10 + round);
    }
    ulong number = 0;
    own.good(LAPI_Address(&number, &number));
    test.equal(number, reinterpret_cast<ulong>(&number));
    void* found = nullptr;
    own.good(LAPI_Addr_set(own.handle, &number, 1));
    own.good(LAPI_Addr_get(own.handle, &found, 1));
    test.that(found == &number, "the address is found");
}

}  // namespace
