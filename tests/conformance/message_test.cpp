// SPDX-License-Identifier: Apache-2.0
/// Active messages of all sizes between all ranks, and what their counters say.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// What a rank has received, found by handlers through the global address space.
struct letter_box {
    selion::signal arrived;
    std::uint64_t sum;
    std::uint64_t last_origin;
    std::uint64_t in_order;
};

struct note {
    selion::global_ptr<letter_box> box;
    std::uint64_t number;
};

selion::arrival take_note(const note& came, selion::message_info about) {
    letter_box& box = *came.box.local();
    box.sum += came.number;
    box.last_origin = about.origin;
    box.in_order += came.number == box.in_order ? 1 : 0;
    selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
    return {};
}

SPMD_TEST(message, short_ones_arrive_in_order) {
    constexpr std::uint64_t count = 2000;
    const std::uint64_t rounds = world.size() > 8 ? count / 10 : count;
    spmd::symmetric_array<letter_box> box(world, 1);
    const selion::rank_id to = test.neighbour();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        selion::send(to, take_note, note{box.at(to), i});
    }
    selion::wait_until(box.own().member(&letter_box::arrived), rounds);
    test.equal(box.mine()->sum, rounds * (rounds - 1) / 2);
    test.equal(box.mine()->in_order, rounds);
    test.equal(box.mine()->last_origin, std::uint64_t{test.neighbour_before()});
    world.barrier();
}

SPMD_TEST(message, everybody_sends_to_everybody) {
    spmd::symmetric_array<letter_box> box(world, 1);
    constexpr std::uint64_t each = 20;
    for (std::uint64_t i = 0; i < each; ++i) {
        for (std::uint32_t d = 0; d < world.size(); ++d) {
            const selion::rank_id to = test.neighbour(d);
            selion::send(to, take_note, note{box.at(to), world.rank() + 1});
        }
    }
    selion::wait_until(box.own().member(&letter_box::arrived), each * world.size());
    const std::uint64_t ranks = world.size();
    test.equal(box.mine()->sum, each * ranks * (ranks + 1) / 2);
    world.barrier();
}

/// A block of memory that a header handler finds for a message.
struct long_note {
    selion::global_ptr<std::byte> place;
    selion::global_ptr<selion::signal> arrived;
};

void tell(void* signal) {
    selion::notify(selion::global_ptr<selion::signal>(reinterpret_cast<std::uint64_t>(signal)),
                   selion::signal_add(1));
}

SPMD_TEST(message, data_go_where_the_header_handler_says) {
    constexpr std::array<std::size_t, 8> sizes{0, 1, 40, 81, 1000, 4097, 65536, 1000003};
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    spmd::symmetric_array<selion::counter> there(world, 1);
    selion::counter reusable;
    selion::counter complete;
    std::uint64_t expected = 0;
    for (const std::size_t bytes : sizes) {
        if (bytes > 100000 && world.size() > 8) continue;
        spmd::guarded_range range(world, bytes + 16);
        for (const bool lends : {false, true}) {
            range.clear();
            world.barrier();
            const selion::rank_id to = test.neighbour();
            std::vector<std::byte> text = spmd::message(world.rank(), bytes);
            const auto handler = [](const long_note& came, selion::message_info about) {
                // An address is a word that the completion handler can turn into a pointer again.
                return selion::arrival{
                    about.data_bytes != 0 ? static_cast<void*>(came.place.local()) : nullptr, tell,
                    reinterpret_cast<void*>(came.arrived.bits())};
            };
            selion::send(to, handler, long_note{range.on(to, 5), arrived.at(to)}, text,
                         {.origin = lends ? &reusable : nullptr,
                          .target = there.at(to),
                          .completion = &complete});
            if (lends) reusable.wait(1);
            std::ranges::fill(text, std::byte{0x11});
            selion::wait_until(arrived.own(), ++expected);
            range.check(test, spmd::message(test.neighbour_before(), bytes), 5);
            there.mine()->wait(1);
            complete.wait(1);
            world.barrier();
        }
    }
    test.equal(reusable.value(), 0);
}

struct large_header {
    std::uint64_t words[64];
    selion::global_ptr<letter_box> box;
};

SPMD_TEST(message, headers_may_be_long) {
    spmd::symmetric_array<letter_box> box(world, 1);
    large_header header{};
    for (std::uint64_t i = 0; i < 64; ++i) header.words[i] = i + world.rank();
    const selion::rank_id to = test.neighbour();
    header.box = box.at(to);
    const std::vector<std::byte> data = spmd::message(world.rank(), 500);
    selion::send(
        to,
        [](const large_header& came, selion::message_info about) {
            std::uint64_t sum = 0;
            for (const std::uint64_t word : came.words) sum += word;
            const bool is_whole =
                std::ranges::equal(about.data, spmd::message(about.origin, about.data_bytes));
            came.box.local()->sum = is_whole ? sum : 0;
            selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
            return selion::arrival{};
        },
        header, data);
    selion::wait_until(box.own().member(&letter_box::arrived), 1);
    test.equal(box.mine()->sum, 64u * 63 / 2 + 64 * test.neighbour_before());
    world.barrier();
}

template <std::size_t words>
struct header_of {
    std::uint64_t numbers[words];
    selion::global_ptr<letter_box> box;
};

/// Data that lie where data of any type may, and come whole beside the header that was sent.
template <std::size_t words>
selion::arrival take_header(const header_of<words>& came, selion::message_info about) {
    letter_box& box = *came.box.local();
    bool is_whole = about.data_bytes == 3001 &&
                    reinterpret_cast<std::uintptr_t>(about.data.data()) % 16 == 0 &&
                    std::ranges::equal(about.data, spmd::message(about.origin, 3001));
    for (std::size_t i = 0; i < words; ++i) is_whole &= came.numbers[i] == i + about.origin;
    box.in_order += is_whole ? 1 : 0;
    selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
    return {};
}

template <std::size_t words>
void send_header(std::uint32_t own, selion::global_ptr<letter_box> to) {
    header_of<words> header{};
    for (std::size_t i = 0; i < words; ++i) header.numbers[i] = i + own;
    header.box = to;
    selion::counter reusable;
    selion::counter complete;
    for (const bool is_completed : {false, true}) {
        std::vector<std::byte> data = spmd::message(own, 3001);
        selion::send(to.rank(), take_header<words>, header, data,
                     {.origin = &reusable, .completion = is_completed ? &complete : nullptr});
        reusable.wait(1);
        std::ranges::fill(data, std::byte{0x11});
        if (is_completed) complete.wait(1);
    }
}

/// Where a header leaves room for the words of the counters the data are lent, else copied.
SPMD_TEST(message, headers_of_all_lengths_go_beside_data) {
    spmd::symmetric_array<letter_box> box(world, 1);
    const auto to = box.at(test.neighbour());
    [&]<std::size_t... less>(std::index_sequence<less...>) {
        (send_header<less + 1>(world.rank(), to), ...);
    }(std::make_index_sequence<12>());
    selion::wait_until(box.own().member(&letter_box::arrived), 24);
    test.equal(box.mine()->in_order, 24u);
    world.barrier();
}

/// The longest message that is possible, and one byte more than half of that.
SPMD_TEST(message, may_be_as_long_as_is_said) {
    spmd::symmetric_array<letter_box> box(world, 1);
    const auto to = box.at(test.neighbour());
    // Where there is hardly a limit that would take too long.
    const std::uint64_t most =
        std::min<std::uint64_t>(selion::detail::most_message_bytes(), 16u << 20);
    std::vector<std::byte> data(most, std::byte{1});
    const auto handler = [](const note& came, selion::message_info about) {
        letter_box& own = *came.box.local();
        own.sum += static_cast<std::uint64_t>(std::ranges::count(about.data, std::byte{1}));
        selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
        return selion::arrival{};
    };
    const std::span<const std::byte> all(data);
    selion::send(to.rank(), handler, note{to, 0}, all);
    selion::send(to.rank(), handler, note{to, 0}, all.first(most / 2 + 1));
    selion::wait_until(box.own().member(&letter_box::arrived), 2);
    test.equal(box.mine()->sum, most + most / 2 + 1);
    world.barrier();
}

/// Sends the message on until it has passed as many ranks as it should.
struct relay {
    selion::global_ptr<letter_box> box;
    std::uint32_t left;
    std::uint32_t ranks;
};

selion::arrival pass_on(const relay& came, selion::message_info) {
    if (came.left == 0) {
        selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
        return {};
    }
    const selion::rank_id next = (came.box.rank() + 1) % came.ranks;
    selion::send(next, pass_on, relay{came.box.on(next), came.left - 1, came.ranks});
    return {};
}

SPMD_TEST(message, handlers_send_messages) {
    spmd::symmetric_array<letter_box> box(world, 1);
    // Each rank's message goes round three times and comes back to it.
    selion::send(world.rank(), pass_on, relay{box.own(), 3 * world.size(), world.size()});
    selion::wait_until(box.own().member(&letter_box::arrived), 1);
    world.barrier();
}

/// Who sends a note, where its numbers are kept, and whether its handler takes long.
struct numbered_note {
    selion::global_ptr<std::uint64_t> last;
    selion::global_ptr<std::uint64_t> wrong;
    std::uint64_t number;
};

selion::arrival take_numbered(const numbered_note& came, selion::message_info) {
    std::uint64_t& last = *came.last.local();
    if (came.number != last + 1) ++*came.wrong.local();
    last = came.number;
    selion::charge(selion::nanoseconds(came.number % 7 == 0 ? 3000 : 10));
    return {};
}

SPMD_TEST(message, they_are_handled_in_order_however_long_that_takes) {
    spmd::symmetric_array<std::uint64_t> last(world, world.size());
    spmd::symmetric_array<std::uint64_t> wrong(world, 1);
    const std::uint32_t rounds = test.rounds(200, 20);
    selion::counter done;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        selion::send(0, take_numbered,
                     numbered_note{last.at(0) + std::ptrdiff_t{world.rank()}, wrong.at(0), i}, {},
                     {.completion = &done});
        selion::charge(selion::nanoseconds(static_cast<std::int64_t>(i * 7 * world.rank() % 13)));
    }
    done.wait(rounds);
    world.barrier();
    test.equal(*wrong.mine(), std::uint64_t{0});
}

/// Long ones take longer to come over, by other ways.
SPMD_TEST(message, long_and_short_ones_are_handled_in_order) {
    spmd::symmetric_array<std::uint64_t> last(world, world.size());
    spmd::symmetric_array<std::uint64_t> wrong(world, 1);
    const std::vector<std::byte> data(world.size() > 8 ? 40'000 : 200'000);
    const std::size_t lengths[] = {data.size(), 0, 33'000, 8, 1'000, 40'000, 0, 16'000};
    const std::uint32_t rounds = test.rounds(64, 8);
    const std::uint32_t to = (world.rank() + 1) % world.size();
    selion::counter done;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        selion::send(to, take_numbered,
                     numbered_note{last.at(to) + std::ptrdiff_t{world.rank()}, wrong.at(to), i},
                     std::span(data).first(lengths[i % std::size(lengths)]), {.completion = &done});
    }
    done.wait(rounds);
    world.barrier();
    test.equal(*wrong.mine(), std::uint64_t{0});
    test.equal(last.mine()[(world.rank() + world.size() - 1) % world.size()],
               std::uint64_t{rounds});
}

/// Makes a handler send more than its target takes at a time.
struct order {
    selion::global_ptr<letter_box> box;
    std::uint32_t target;
    std::uint32_t count;
};
struct signed_note {
    selion::global_ptr<letter_box> box;
    std::uint32_t sender;
    std::uint32_t number;
};

selion::arrival take_signed(const signed_note& came, selion::message_info about) {
    letter_box& box = *came.box.local();
    box.sum += about.origin == came.sender ? 1 : 0;
    selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
    return {};
}

selion::arrival send_many(const order& came, selion::message_info about) {
    for (std::uint32_t i = 0; i < came.count; ++i) {
        selion::send(about.origin, take_signed, signed_note{came.box, came.target, i});
    }
    return {};
}

SPMD_TEST(message, what_handlers_send_comes_from_their_ranks) {
    spmd::symmetric_array<letter_box> box(world, 1);
    const std::uint32_t each = 4000 / world.size() + 20;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        selion::send(rank, send_many, order{box.own(), rank, each});
    }
    const std::uint64_t all = std::uint64_t{each} * world.size();
    selion::wait_until(box.own().member(&letter_box::arrived), all);
    test.equal(box.mine()->sum, all);
    world.barrier();
}

/// Longer than what travels in one piece.
constexpr std::size_t long_text_bytes = 50'001;

selion::arrival take_long_text(const note& came, selion::message_info about) {
    letter_box& box = *came.box.local();
    box.sum += std::ranges::equal(about.data, spmd::message(about.origin, long_text_bytes)) ? 1 : 0;
    selion::notify(came.box.member(&letter_box::arrived), selion::signal_add(1));
    return {};
}

SPMD_TEST(message, handlers_send_long_ones) {
    spmd::symmetric_array<letter_box> box(world, 1);
    const auto ask = [](const note& came, selion::message_info about) {
        const auto text = spmd::message(came.box.rank(), long_text_bytes);
        selion::send(about.origin, take_long_text, note{came.box.on(about.origin), 0}, text);
        return selion::arrival{};
    };
    for (int i = 0; i < 3; ++i) {
        selion::send(test.neighbour(), ask, note{box.at(test.neighbour()), 0});
    }
    selion::wait_until(box.own().member(&letter_box::arrived), 3);
    test.equal(box.mine()->sum, 3u);
    world.barrier();
}

/// Numbers that a handler sends to a box, from one on.
struct numbers_to_send {
    selion::global_ptr<letter_box> box;
    std::uint64_t first;
    std::uint64_t count;
};

selion::arrival send_numbers(const numbers_to_send& came, selion::message_info) {
    for (std::uint64_t i = 0; i < came.count; ++i) {
        selion::send(came.box.rank(), take_note, note{came.box, came.first + i});
    }
    return {};
}

/// Handlers send more than there is room for, others while room comes, and at last their rank.
SPMD_TEST(message, what_handlers_and_then_their_rank_send_keeps_its_order) {
    spmd::symmetric_array<letter_box> box(world, 1);
    constexpr std::uint64_t each = 200;
    const std::uint64_t handlers = test.rounds(1200, 8);
    const selion::rank_id last = world.size() - 1;
    const std::uint64_t all = each * handlers;
    world.barrier();
    if (world.rank() == 0) {
        selion::counter done;
        for (std::uint64_t i = 0; i < handlers; ++i) {
            selion::send(0, send_numbers, numbers_to_send{box.at(last), each * i, each}, {},
                         {.completion = &done});
        }
        done.wait(handlers);
        selion::send(last, take_note, note{box.at(last), all});
    }
    if (world.rank() == last) {
        if (world.machine().capabilities.real_time) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));  // its room is used up
        }
        selion::wait_until(box.own().member(&letter_box::arrived), all + 1);
        test.equal(box.mine()->in_order, all + 1);
    }
    world.barrier();
}

SPMD_TEST(message, a_flood_in_both_directions_ends) {
    spmd::symmetric_array<letter_box> box(world, 1);
    const std::uint64_t count = test.rounds(40000, 1000);
    const std::vector<std::byte> data = spmd::message(1, 3000);
    const selion::rank_id to = test.neighbour();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t bytes = i % 7 == 0 ? data.size() : 0;
        selion::send(to, take_note, note{box.at(to), i}, std::span(data).first(bytes));
    }
    selion::wait_until(box.own().member(&letter_box::arrived), count);
    test.equal(box.mine()->in_order, count);
    world.barrier();
}

/// A handler that a rank sees without calling anything.
struct poke {
    selion::global_ptr<std::uint64_t> flag;
};

SPMD_TEST(message, a_rank_that_computes_is_served_by_interrupts) {
    if (world.progress() != selion::progress_kind::interrupt) {
        return test.skip("messages wait for calls here");
    }
    if (!world.machine().capabilities.real_time) return test.skip("its charges do not look");
    if (world.machine().carriers < world.size()) {
        return test.skip("a rank that never calls keeps those of its thread from sending");
    }
    spmd::symmetric_array<std::uint64_t> flags(world, 1);
    for (std::uint64_t round = 1; round <= 20; ++round) {
        const selion::rank_id to = test.neighbour();
        for (std::uint32_t turn = 0; turn < world.size(); ++turn) {
            world.barrier();
            if (turn == world.rank()) {
                selion::send(
                    to,
                    [](const poke& came, selion::message_info) {
                        std::atomic_ref(*came.flag.local()).fetch_add(1);
                        return selion::arrival{};
                    },
                    poke{flags.at(to)});
            }
            if (turn == test.neighbour_before()) {
                std::atomic_ref flag(*flags.mine());
                while (flag.load() < round) sched_yield();
            }
        }
    }
    world.barrier();
}

}  // namespace
