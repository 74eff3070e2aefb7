// SPDX-License-Identifier: Apache-2.0
/// Thousands of collectives in a row, of random kinds and sizes, with one-sided traffic in between:
/// none sees what belongs to another.
#include "conformance/memory_parts.hpp"

namespace {

/// One step of the mix; all ranks draw the same kind, size and root.
class mixer {
public:
    mixer(spmd::test_run& test, selion::world& world)
        : test_(test), world_(world), mailbox_(world, world.size()), arrived_(world, 1) {}

    void step(std::uint32_t number) {
        number_ = number;
        std::mt19937_64& random = test_.common_random();
        const auto root = static_cast<std::uint32_t>(random() % world_.size());
        switch (random() % 8) {
            case 0: return world_.barrier();
            case 1: return world_.sync();
            case 2: return broadcast_value(root);
            case 3: return broadcast_span(root, draw_count(random));
            case 4: return reduce_value();
            case 5: return reduce_span(draw_count(random));
            case 6: return send_to(1 + root);
            default: return allocate_and_put(1 + random() % 5000);
        }
    }

private:
    static std::size_t draw_count(std::mt19937_64& random) {
        return (std::size_t{20'000} >> random() % 15) * (random() % 7) / 6;
    }

    std::uint64_t word(std::uint32_t rank, std::size_t index) const {
        return rank * 1'000'003ull + number_ * 7919ull + index;
    }

    std::vector<std::uint64_t> words(std::uint32_t rank, std::size_t count) const {
        std::vector<std::uint64_t> all(count);
        for (std::size_t i = 0; i < count; ++i) all[i] = word(rank, i);
        return all;
    }

    void broadcast_value(std::uint32_t root) {
        test_.equal(world_.broadcast(word(world_.rank(), 0), root), word(root, 0));
    }

    void broadcast_span(std::uint32_t root, std::size_t count) {
        std::vector<std::uint64_t> data = words(world_.rank(), count);
        world_.broadcast(std::span(data), root);
        test_.that(data == words(root, count), "the span is the root's");
    }

    void reduce_value() {
        test_.equal(world_.all_reduce(word(world_.rank(), 5), selion::maximum),
                    word(world_.size() - 1, 5));
    }

    void reduce_span(std::size_t count) {
        std::vector<std::uint64_t> data = words(world_.rank(), count);
        world_.all_reduce(std::span(data), selion::plus);
        const std::uint64_t ranks = world_.size();
        bool is_right = true;
        for (std::size_t i = 0; i < count; ++i) {
            is_right &= data[i] == ranks * word(0, i) + 1'000'003ull * (ranks * (ranks - 1) / 2);
        }
        test_.that(is_right, "the span is the sum over the ranks");
    }

    /// A message round the ring; no collective at all.
    void send_to(std::uint32_t places) {
        const std::uint32_t from = test_.neighbour_before(places);
        ++letters_;
        selion::put_signal(mailbox_.at(test_.neighbour(places), world_.rank()),
                           word(world_.rank(), 9), arrived_.at(test_.neighbour(places)),
                           selion::signal_add(1));
        selion::wait_until(arrived_.own(), letters_);
        world_.sync();
        test_.equal(mailbox_.mine()[from], word(from, 9));
        world_.sync();
    }

    void allocate_and_put(std::size_t count) {
        spmd::symmetric_array<std::uint64_t> cells(world_, count);
        const std::uint32_t from = test_.neighbour_before();
        selion::put(cells.at(test_.neighbour(), count - 1), word(world_.rank(), count));
        world_.barrier();
        test_.equal(cells.mine()[count - 1], word(from, count));
    }

    spmd::test_run& test_;
    selion::world& world_;
    spmd::symmetric_array<std::uint64_t> mailbox_;
    spmd::symmetric_array<selion::signal> arrived_;
    std::uint64_t letters_ = 0;
    std::uint32_t number_ = 0;
};

SPMD_TEST(collective_mix, thousands_in_a_row) {
    mixer mix(test, world);
    const std::uint32_t steps = test.rounds(16'000, 200);
    for (std::uint32_t step = 0; step < steps; ++step) mix.step(step);
}

}  // namespace
