// SPDX-License-Identifier: Apache-2.0
// The steps come before the checker, whose macros take over words such as `new` and `assert`.
#include "machine/node/message_ring.hpp"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <relacy/relacy.hpp>
#include <string>

#include "model/schedules.hpp"

/// Checks src/machine/node/message_ring.hpp: every message arrives once, whole, and in the order of
/// its sender, and no slot is written while it is read (a data race for the checker), also by a
/// sender that uses the row. With any ordering or test taken away, a failure must be found.
namespace {

namespace protocol = selion::machine::node::ring_protocol;

enum class fault {
    none,
    publication,  ///< the number of a slot is stored without releasing the message
    arrival,      ///< and read without acquiring it
    consumption,  ///< the receiver's progress is stored without releasing its reads
    hearsay,      ///< what senders tell each other of it is not ordered
    room,         ///< a ticket is drawn whether or not its slot is free
    ticket,       ///< tickets are drawn by a load and a store
    haste,        ///< the partner is told of a message of the row before it is read
    row_room,     ///< the next message goes to the row whether or not its slot is free
    mark,         ///< a receiver does not heed where the next message is
};
fault without = fault::none;

bool lacks(fault what) { return without == what; }

constexpr std::uint64_t capacity = 2;
constexpr selion::machine::node::ring_shape small{.slots = capacity, .row = capacity};
using selion::machine::node::drawn_ticket;

struct slot {
    rl::atomic<std::uint64_t> sequence{0};
    rl::var<int> sender;
    rl::var<int> number;
    rl::var<bool> next_in_row;
    rl::var<std::uint64_t> told;  ///< what the sender has taken of the other ring's row
};

const char* name_of(fault what) {
    switch (what) {
        case fault::none: return "everything in place";
        case fault::publication: return "nothing published";
        case fault::arrival: return "nothing acquired";
        case fault::consumption: return "no release of what was read";
        case fault::hearsay: return "hearsay without order";
        case fault::room: return "no test for room";
        case fault::ticket: return "tickets drawn in two steps";
        case fault::haste: return "told before it is read";
        case fault::row_room: return "no test for room in the row";
        case fault::mark: return "no heed of where the next is";
    }
    return "";
}

template <std::uint64_t Slots>
struct ring {
    rl::atomic<std::uint64_t> tail{0};
    rl::atomic<std::uint64_t> known_consumed{0};
    rl::atomic<std::uint64_t> consumed{0};
    std::uint64_t row_tail = 0, row_known = 0;  // one sender
    bool next_in_row = false;
    std::uint64_t head = 0, row_head = 0;  // one receiver
    bool is_in_row = false;
    slot slots[Slots];
    slot row[Slots];

    slot& at(bool in_row, std::uint64_t place) { return in_row ? row[place] : slots[place]; }
    void clear() {
        for (auto* const all : {&slots, &row}) {
            for (slot& one : *all) {
                one.sender($) = one.number($) = -1;
                one.next_in_row($) = false;
                one.told($) = 0;
            }
        }
    }
};

/// The orders of machine/node/mail_access.hpp.
struct ring_access {
    bool has_one_sender = false;

    std::uint64_t tail(auto& of) { return of.tail.load(rl::mo_relaxed, $); }
    bool advance_tail(auto& of, std::uint64_t& ticket) {
        if (has_one_sender || lacks(fault::ticket)) {
            of.tail.store(ticket + 1, rl::mo_relaxed, $);
            return true;
        }
        return of.tail.compare_exchange_weak(ticket, ticket + 1, rl::mo_relaxed, $);
    }
    std::uint64_t row_tail(auto& of) { return of.row_tail; }
    void set_row_tail(auto& of, std::uint64_t tail) { of.row_tail = tail; }
    std::uint64_t row_known(auto& of) {
        return lacks(fault::row_room) ? of.row_tail : of.row_known;
    }
    void set_row_known(auto& of, std::uint64_t taken) { of.row_known = taken; }
    bool next_in_row(auto& of) { return of.next_in_row; }
    void set_next_in_row(auto& of, bool is) { of.next_in_row = is; }
    std::uint64_t known_consumed(auto& of) {
        if (lacks(fault::room)) return of.tail.load(rl::mo_relaxed, $);
        return of.known_consumed.load(lacks(fault::hearsay) ? rl::mo_relaxed : rl::mo_acquire, $);
    }
    void set_known_consumed(auto& of, std::uint64_t consumed) {
        of.known_consumed.store(consumed, lacks(fault::hearsay) ? rl::mo_relaxed : rl::mo_release,
                                $);
    }
    std::uint64_t consumed(auto& of) { return of.consumed.load(rl::mo_acquire, $); }
    std::uint64_t head(auto& of) const { return of.head; }
    std::uint64_t row_head(auto& of) const { return of.row_head; }
    bool is_in_row(auto& of) const { return of.is_in_row; }
    std::uint64_t sequence(auto& of, bool in_row, std::uint64_t place) const {
        return of.at(in_row, place)
            .sequence.load(lacks(fault::arrival) ? rl::mo_relaxed : rl::mo_acquire, $);
    }
};

template <int Senders, int Each>
struct mail : rl::test_suite<mail<Senders, Each>, Senders + 1> {
    ring<capacity> messages;

    void before() { messages.clear(); }

    void send(int self, int number) {
        ring_access memory{.has_one_sender = Senders == 1};
        drawn_ticket drawn;
        while (!protocol::draw(memory, messages, small, drawn)) rl::yield(1, $);
        slot& mine = messages.slots[drawn.ticket % capacity];
        mine.sender($) = self;
        mine.number($) = number;
        mine.sequence.store(drawn.ticket + 1,
                            lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release, $);
    }

    /// As mail_room::serve_next; progress is told after each message here.
    void receive_all() {
        ring_access memory;
        int next[Senders] = {};
        for (int i = 0; i < Senders * Each; ++i) {
            while (!protocol::has_message(memory, messages, small)) rl::yield(1, $);
            slot& first = messages.slots[messages.head % capacity];
            const int sender = first.sender($);
            RL_ASSERT(sender >= 0 && sender < Senders);
            RL_ASSERT(first.number($) == next[sender]);
            ++next[sender];
            ++messages.head;
            messages.consumed.store(messages.head,
                                    lacks(fault::consumption) ? rl::mo_relaxed : rl::mo_release, $);
        }
    }

    void thread(unsigned self) {
        if (self == Senders) return receive_all();
        for (int i = 0; i < Each; ++i) send(static_cast<int>(self), i);
    }
};

/// Two that have a ring each to the other and answer each other in turn, in the row; then one of
/// them sends more than there is room for in both, without an answer, and they answer again.
template <int Turns, int Burst>
struct conversation : rl::test_suite<conversation<Turns, Burst>, 2> {
    static constexpr selion::machine::node::ring_shape shape{.slots = 2, .row = 2};

    ring<shape.slots> to[2];

    void before() {
        for (auto& one : to) one.clear();
    }

    void send(unsigned self, int number) {
        ring_access memory{.has_one_sender = true};
        auto& out = to[1 - self];
        drawn_ticket drawn;
        while (!protocol::draw_with_row(memory, out, shape, drawn)) rl::yield(1, $);
        slot& mine = out.at(drawn.in_row, drawn.ticket % 2);
        mine.number($) = number;
        mine.next_in_row($) = drawn.next_in_row;
        mine.told($) = to[self].row_head;
        mine.sequence.store(drawn.ticket + 1,
                            lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release, $);
    }

    /// As mail_room::serve_next. @param answers the answer leaves before the message is read.
    void receive(unsigned self, int number, bool answers = false) {
        ring_access memory{.has_one_sender = true};
        auto& in = to[self];
        while (!protocol::has_message(memory, in, shape)) rl::yield(1, $);
        const std::uint64_t ticket = in.is_in_row ? in.row_head++ : in.head++;
        slot& first = in.at(in.is_in_row, ticket % 2);
        if (answers) send(self, number);
        RL_ASSERT(first.number($) == number);
        protocol::learn(memory, to[1 - self], first.told($));
        const bool next_in_row = first.next_in_row($);
        if (!in.is_in_row) {
            in.consumed.store(in.head, lacks(fault::consumption) ? rl::mo_relaxed : rl::mo_release,
                              $);
        }
        if (!lacks(fault::mark)) in.is_in_row = next_in_row;
    }

    void converse(unsigned self, int from, int to_number) {
        for (int i = from; i < to_number; ++i) {
            if (self == 0) {
                send(self, i);
                receive(self, i);
            } else if (lacks(fault::haste)) {
                receive(self, i, true);
            } else {
                receive(self, i);
                send(self, i);
            }
        }
    }

    void thread(unsigned self) {
        converse(self, 0, Turns);
        for (int i = Turns; i < Turns + Burst; ++i) {
            if (self == 0)
                send(self, i);
            else
                receive(self, i);
        }
        converse(self, Turns + Burst, 2 * Turns + Burst);
    }
};

/// What the checks run: more messages than slots, or nothing is written twice.
using two_senders = mail<2, 2>;
using one_sender = mail<1, 4>;
using two_partners = conversation<3, 6>;

template <class Scenario>
bool is_sound(const char* name, rl::scheduler_type_e kind, unsigned switches,
              rl::iteration_t schedules) {
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = kind;
    settings.context_bound = switches;
    settings.iteration_count = schedules;
    settings.output_stream = settings.progress_stream = &story;
    rl::simulate<Scenario>(settings);
    std::printf("%s: %s after %llu schedules (%s)\n", name,
                rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration), rl::format(kind));
    const bool is_fine = settings.test_result == rl::test_result_success;
    if (!is_fine && without == fault::none) std::printf("%s\n", story.str().c_str());
    return is_fine;
}

template <class Scenario>
bool needs(fault what, const char* name) {
    without = what;
    const bool is_found = !is_sound<Scenario>(name, rl::sched_random, 0, 100'000) ||
                          !is_sound<Scenario>(name, rl::sched_bound, 2, 0);
    without = fault::none;
    if (!is_found) std::printf("    NOT FOUND\n");
    return is_found;
}

template <class Scenario>
bool stands(const std::string& name, unsigned switches, std::initializer_list<fault> parts) {
    const auto is_sound_in = [&](rl::scheduler_type_e kind, rl::iteration_t schedules) {
        const std::string all = name + ", everything in place";
        return is_sound<Scenario>(all.c_str(), kind, switches, schedules);
    };
    return is_sound_in(rl::sched_random, model::tried_of(500'000)) &&
           is_sound_in(rl::sched_bound, 0) &&
           std::all_of(parts.begin(), parts.end(), [&](fault part) {
               return needs<Scenario>(part, (name + ", " + name_of(part)).c_str());
           });
}

}  // namespace

int main() {
    using enum fault;
    const bool is_fine =
        stands<two_senders>("two senders", 2,
                            {publication, arrival, consumption, hearsay, room, ticket}) &&
        stands<one_sender>("one sender", 3, {publication, arrival, consumption, room}) &&
        stands<two_partners>("two partners", 2,
                             {publication, arrival, consumption, room, haste, row_room, mark});
    return is_fine ? 0 : 1;
}
