// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include <selion/cached_array.hpp>
#include <selion/selion.hpp>

#include "dice.hpp"

/// Rounds in which ranks write elements that share blocks, synchronise in some way, and read. With
/// release consistency each must find what the element's only writer has written, or the same value
/// as all others where all have written.
namespace coherent_order::releases {

constexpr std::uint64_t rounds = 40;
constexpr std::size_t most_elements = 40;

using element = std::uint16_t;

/// Who writes an element in a round.
enum class turn : std::uint8_t { nobody, one, all };

/// How ranks tell each other that they have written.
enum class way : std::uint8_t { barrier, arrive_and_wait, reduction, signals, signals_with_data };
constexpr std::size_t ways = 5;

/// What each rank has found where all had written.
struct found_values {
    std::array<element, most_elements> of;
};

class player {
public:
    player(selion::world& world, std::uint64_t seed)
        : world_(world),
          common_(seed),
          own_(seed, world.rank() + 1),
          signal_(selion::allocate<selion::signal>(world, 1)),
          words_(selion::allocate<std::uint64_t>(world, world.size())),
          found_(selion::allocate<found_values>(world, 1)) {
        selion::cached how = any_cache(common_);
        how.consistency = selion::memory_consistency::release;
        if (!common_.one_in(3)) how.writes = selion::write_protocol::update;
        const std::size_t elements = 6 + common_.below(most_elements - 5);
        array_ = numbers(world, {elements}, selion::runs{1 + common_.below(4)}, how);
        values_.assign(elements, 0);
        turns_.assign(elements, turn::nobody);
        writers_.assign(elements, 0);
    }

    /// @return whether all was found as it should be.
    bool play() {
        for (round_ = 1; round_ <= rounds && is_right_; ++round_) {
            share_out();
            pause(own_);
            write();
            synchronise();
            for (std::size_t i = 0; i < array_.extent(0); ++i) expect(i, "after the round");
            note_found();
            world_.barrier();
            compare_found();
            // One has found a fault, and all go no further.
            is_right_ = world_.all_reduce(is_right_ ? 1 : 0, selion::minimum) == 1;
        }
        return is_right_;
    }

    void say_counts() const {
        const selion::cache_counts counts = array_.space().counts();
        std::printf("a rank has sent %llu updates and %llu blocks, with %llu evictions\n",
                    static_cast<unsigned long long>(counts.updates_sent),
                    static_cast<unsigned long long>(counts.blocks_sent),
                    static_cast<unsigned long long>(counts.evictions));
    }

    void finish() {
        world_.barrier();
        selion::deallocate(world_, array_);
        selion::deallocate(world_, found_);
        selion::deallocate(world_, words_);
        selion::deallocate(world_, signal_);
    }

private:
    using numbers = selion::cached_array<element, 1>;

    void share_out() {
        for (std::size_t i = 0; i < array_.extent(0); ++i) {
            const std::uint64_t what = common_.below(8);
            turns_[i] = what < 4 ? turn::one : what < 7 ? turn::nobody : turn::all;
            writers_[i] = static_cast<std::uint32_t>(common_.below(world_.size()));
            if (turns_[i] == turn::one) values_[i] = value_of(i, writers_[i]);
        }
        way_ = static_cast<way>(common_.below(ways));
    }
    /// Another one in each round, of which some bytes may be as before.
    element value_of(std::size_t i, std::uint32_t writer) const {
        return static_cast<element>((round_ * 31 + i * 7) % 97 + 256 * ((round_ + writer) % 5));
    }
    bool is_mine(std::size_t i) const {
        return turns_[i] == turn::all || (turns_[i] == turn::one && writers_[i] == world_.rank());
    }

    void write() {
        std::vector<std::size_t> order(array_.extent(0));
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[own_.below(i)]);
        for (const std::size_t i : order) {
            if (own_.one_in(4)) pause(own_);
            if (own_.one_in(10)) look_after_copies(i);
            if (!is_mine(i)) {
                if (turns_[i] == turn::nobody && own_.one_in(2)) expect(i, "during the round");
                continue;
            }
            for (std::uint64_t more = own_.below(3); more != 0; --more) {
                array_(i) = static_cast<element>(own_.below(65536));
                pause(own_);
            }
            assign(i, value_of(i, world_.rank()));
            if (turns_[i] == turn::one && own_.one_in(2)) expect(i, "where it has written it");
        }
    }
    void assign(std::size_t i, element value) {
        if (own_.one_in(3)) {
            array_.write({{i}, {1}}, std::span(&value, 1));
        } else {
            array_(i) = value;
        }
    }
    void look_after_copies(std::size_t i) {
        switch (own_.below(3)) {
            case 0: return array_.space().flush();
            case 1: return array_.space().invalidate();
            default: return array_.prefetch({{i}, {1}});
        }
    }

    void synchronise() {
        const std::uint32_t ranks = world_.size();
        switch (way_) {
            case way::barrier: return world_.barrier();
            case way::arrive_and_wait:
                world_.arrive();
                pause(own_);
                return world_.wait();
            case way::reduction: static_cast<void>(world_.all_reduce(1, selion::plus)); return;
            case way::signals:
                for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                    selion::notify(signal_.on(rank), selion::signal_add(1));
                }
                break;
            case way::signals_with_data:
                for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                    selion::put_signal(words_.on(rank) + world_.rank(), round_, signal_.on(rank),
                                       selion::signal_add(1));
                }
                break;
        }
        signals_ += ranks;
        selion::wait_until(signal_.on(world_.rank()), signals_);
    }

    void expect(std::size_t i, const char* when) {
        if (turns_[i] == turn::all) return;
        const element read = array_(i);
        if (read == values_[i]) return;
        is_right_ = false;
        std::fprintf(stderr,
                     "coherent_order: round %llu: element %zu is %u at rank %u %s, not %u\n",
                     static_cast<unsigned long long>(round_), i, read, std::uint32_t{world_.rank()},
                     when, values_[i]);
    }
    void note_found() {
        found_values& mine = *found_.on(world_.rank()).local();
        for (std::size_t i = 0; i < array_.extent(0); ++i) {
            if (turns_[i] == turn::all) mine.of[i] = values_[i] = array_(i);
        }
    }
    /// All have found the same.
    void compare_found() {
        if (world_.rank() != 0) return;
        for (std::uint32_t rank = 1; rank < world_.size(); ++rank) {
            const found_values theirs = selion::get(found_.on(rank));
            for (std::size_t i = 0; i < array_.extent(0); ++i) {
                if (turns_[i] != turn::all || theirs.of[i] == values_[i]) continue;
                is_right_ = false;
                std::fprintf(stderr,
                             "coherent_order: round %llu: element %zu, which all have written, is "
                             "%u at rank 0 and %u at rank %u\n",
                             static_cast<unsigned long long>(round_), i, values_[i], theirs.of[i],
                             rank);
            }
        }
    }

    selion::world& world_;
    dice common_;
    dice own_;
    selion::global_ptr<selion::signal> signal_;
    selion::global_ptr<std::uint64_t> words_;
    selion::global_ptr<found_values> found_;
    numbers array_;
    std::vector<element> values_;  ///< that elements have after the round
    std::vector<turn> turns_;
    std::vector<std::uint32_t> writers_;
    way way_ = way::barrier;
    std::uint64_t round_ = 0;
    std::uint64_t signals_ = 0;
    bool is_right_ = true;
};

/// @return whether all ranks have read what they should.
inline bool run(selion::world& world, std::uint64_t seed) {
    player me(world, seed);
    const bool is_right = me.play();
    if (world.rank() == 0) me.say_counts();
    me.finish();
    return is_right;
}

}  // namespace coherent_order::releases
