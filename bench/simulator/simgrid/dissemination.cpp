// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "measured_modes.hpp"
#include "platform.hpp"

namespace bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::size_t most_steps = 20;

/// One member of barriers of messages: in step k of a barrier it tells the one 2^k behind it and
/// hears the one before. A message carries the number of its step, and may come early.
class member {
public:
    member(std::uint64_t number, const std::vector<s4u::Mailbox*>& boxes)
        : number_(number), boxes_(boxes) {}

    void meet() {
        ++meetings_;
        for (std::size_t step = 0; std::uint64_t{1} << step < boxes_.size(); ++step) {
            s4u::Mailbox* const peer =
                boxes_[(number_ + (std::uint64_t{1} << step)) % boxes_.size()];
            peer->put_init(const_cast<std::size_t*>(&step_numbers[step]), message_bytes)->detach();
            while (heard_[step] < meetings_) ++heard_[*boxes_[number_]->get<std::size_t>()];
        }
    }

private:
    static constexpr std::uint64_t message_bytes = 8;
    static constexpr std::array<std::size_t, most_steps> step_numbers = [] {
        std::array<std::size_t, most_steps> all{};
        for (std::size_t i = 0; i < most_steps; ++i) all[i] = i;
        return all;
    }();

    std::uint64_t number_;
    const std::vector<s4u::Mailbox*>& boxes_;
    std::uint64_t meetings_ = 0;
    std::array<std::uint64_t, most_steps> heard_{};
};

}  // namespace

int dissemination(const request& what) {
    const std::uint64_t ranks = what["ranks"];
    const std::uint64_t rounds = what["rounds"];
    const auto hosts = make_hosts(what["hosts"]);
    std::vector<s4u::Mailbox*> boxes(ranks);
    for (std::uint64_t i = 0; i < ranks; ++i) boxes[i] = s4u::Mailbox::by_name(std::to_string(i));
    for (std::uint64_t i = 0; i < ranks; ++i) {
        s4u::Actor::create(std::to_string(i), hosts[i % hosts.size()], [&, i] {
            member self(i, boxes);
            self.meet();
            const stopwatch watch;
            for (std::uint64_t round = 0; round < rounds; ++round) self.meet();
            if (i != 0) return;
            row("barrier", "SimGrid, messages")
                .add("ranks", ranks)
                .add("rounds", rounds)
                .add_times(watch, rounds)
                .print();
        });
    }
    s4u::Engine::get_instance()->run();
    return 0;
}

}  // namespace bench
