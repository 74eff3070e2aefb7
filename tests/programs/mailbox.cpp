// SPDX-License-Identifier: Apache-2.0
/// A protocol with and without a mistake that only some orders of messages show: senders put
/// letters into a box of rank 0, count them there and ring its bell; rank 0 goes on when all are
/// there.
///
///   mailbox right|lost_wake_up|wrong_counter
///
/// lost_wake_up: rank 0 looks at the count and then reads the bell, after whose next ring it looks
/// again; a ring between the two is lost, and if it was the last, rank 0 waits for ever.
/// wrong_counter: senders choose their place in the box by a get and a put instead of a fetch_add,
/// so two may choose the same. Exit status 1 when a letter is lost.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <selion/selion.hpp>

namespace {

constexpr std::uint64_t letters_each = 4;
constexpr std::uint64_t most_letters = 1024;

struct mailbox {
    selion::signal bell;
    std::uint64_t places_taken;
    std::uint64_t letters_there;
    std::uint64_t letters[most_letters];
};

void send(selion::world& world, selion::global_ptr<mailbox> box, std::string_view what) {
    const auto places = box.member(&mailbox::places_taken);
    const auto letters = box.member(&mailbox::letters).reinterpret<std::uint64_t>();
    for (std::uint64_t i = 0; i < letters_each; ++i) {
        std::uint64_t place = 0;
        if (what == "wrong_counter") {
            place = selion::get(places);
            selion::put(places, place + 1);
        } else {
            place = selion::fetch_add(places, 1);
        }
        const std::uint64_t text = std::uint64_t{world.rank()} * letters_each + i + 1;
        selion::put(letters + static_cast<std::ptrdiff_t>(place), text);
        selion::fetch_add(box.member(&mailbox::letters_there), 1);
        selion::notify(box.member(&mailbox::bell), selion::signal_add(1));
        // Without delays the senders take turns.
        selion::charge(selion::nanoseconds(16'000 * world.size()));
    }
}

/// @return whether all letters are there.
bool receive(selion::world& world, selion::global_ptr<mailbox> box, std::string_view what) {
    const std::uint64_t expected = (world.size() - 1) * letters_each;
    const auto bell = box.member(&mailbox::bell);
    const auto there = box.member(&mailbox::letters_there);
    while (true) {
        std::uint64_t rung = selion::read_signal(bell);
        if (selion::atomic_get(there) == expected) break;
        selion::charge(selion::nanoseconds(8'000));
        if (what == "lost_wake_up") rung = selion::read_signal(bell);
        selion::wait_until(bell, rung + 1);
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < expected; ++i) sum += box.local()->letters[i];
    const std::uint64_t first = letters_each + 1;
    const std::uint64_t last = letters_each + expected;
    return sum == (first + last) * expected / 2;
}

int run(selion::world& world, std::string_view what) {
    const auto box = selion::allocate<mailbox>(world, 1).on(0);
    if (world.rank() != 0) {
        selion::charge(selion::nanoseconds(16'000 * world.rank()));
        send(world, box, what);
        return 0;
    }
    if (receive(world, box, what)) return 0;
    std::fprintf(stderr, "mailbox: a letter is lost\n");
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what != "right" && what != "lost_wake_up" && what != "wrong_counter") {
        std::fprintf(stderr, "usage: mailbox right|lost_wake_up|wrong_counter\n");
        return 2;
    }
    return selion::run(argc, argv, [&](selion::world& world) { return run(world, what); });
}
