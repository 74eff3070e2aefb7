// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "pair/bare.hpp"
#include "pair/contests.hpp"

namespace bench {
namespace {

/// Rank 0 sends and waits for the answer, rank 1 answers: `count` round trips.
/// @param send called with the number of the turn. @param receive as well.
template <class Send, class Receive>
loop ping_pong(const selion::world& world, Send send, Receive receive) {
    return on_all(
        [=, starts = world.rank() == 0, turn = std::uint64_t{0}](std::uint64_t count) mutable {
            for (std::uint64_t i = 0; i < count; ++i) {
                ++turn;
                if (starts) send(turn);
                receive(turn);
                if (!starts) send(turn);
            }
        });
}

selion::rank_id peer_of(const selion::world& world) { return 1 - world.rank(); }

/// Both ranks pass a flag, and perhaps a payload, to a line that the other spins on.
/// @param distance of the payload from the start of the flag's line, in words; 0: no payload.
template <bare::between_looks Between = bare::between_looks::nothing>
loop bare_ping_pong(const selion::world& world, std::size_t distance) {
    const auto lines = selion::allocate<bare::flag_line>(world, 4);
    auto* const own = lines.local();
    auto* const other = lines.on(peer_of(world)).local();
    auto* const own_words = reinterpret_cast<std::uint64_t*>(own);
    auto* const other_words = reinterpret_cast<std::uint64_t*>(other);
    return ping_pong(
        world,
        [=](std::uint64_t turn) {
            if (distance != 0) other_words[distance] = turn;
            bare::raise(other->flag, turn);
        },
        [=](std::uint64_t turn) {
            bare::await<Between>(own->flag, turn);
            if (distance != 0) consume(own_words[distance]);
        });
}

constexpr std::size_t same_line = 2;
constexpr std::size_t other_line = 2 * sizeof(bare::flag_line) / sizeof(std::uint64_t);

loop selion_ping_pong(const selion::world& world, std::size_t distance) {
    const auto own = selion::allocate<bare::signal_line>(world, 4);
    const auto other = own.on(peer_of(world));
    const auto payload_at = [distance](selion::global_ptr<bare::signal_line> line) {
        return line.reinterpret<std::uint64_t>() + static_cast<std::ptrdiff_t>(distance);
    };
    return ping_pong(
        world,
        [=](std::uint64_t turn) {
            selion::put_signal(payload_at(other), turn, bare::signal_of(other),
                               selion::signal_set(turn));
        },
        [=](std::uint64_t turn) {
            selion::wait_until(bare::signal_of(own), turn);
            consume(selion::get(payload_at(own)));
        });
}

contest notify_contest(const selion::world& world) {
    const auto own = selion::allocate<bare::signal_line>(world, 1);
    const auto other = own.on(peer_of(world));
    return {"notify, one way",
            {{"selion",
              ping_pong(
                  world,
                  [=](std::uint64_t turn) {
                      selion::notify(bare::signal_of(other), selion::signal_set(turn));
                  },
                  [=](std::uint64_t turn) { selion::wait_until(bare::signal_of(own), turn); })},
             {"bare flag", bare_ping_pong(world, 0)},
             {"bare flag, pause", bare_ping_pong<bare::between_looks::pause>(world, 0)}},
            2,
            true};
}

constexpr std::uint64_t chain_lines = 256;

/// Reads lines that the other core has just written, each line naming the next: no two loads
/// overlap. @param read returns the word at an index.
template <class Read>
loop chase(const selion::world& world, selion::global_ptr<std::uint64_t> chain, Read read) {
    constexpr std::uint64_t lines = chain_lines;
    constexpr std::uint64_t step = sizeof(bare::flag_line) / sizeof(std::uint64_t);
    const auto flags = selion::allocate<bare::flag_line>(world, 1);
    std::uint64_t* const asked = &flags.on(1).local()->flag;
    std::uint64_t* const written = &flags.on(0).local()->flag;
    std::vector<std::uint64_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(1));
    if (world.rank() != 0) {
        std::uint64_t* const words = chain.local();
        return [=, turn = std::uint64_t{0}](std::uint64_t count) mutable -> std::int64_t {
            for (std::uint64_t i = 0; i < count; ++i) {
                bare::await(*asked, ++turn);
                for (std::uint64_t k = 0; k < lines; ++k) {
                    words[order[k] * step] = order[(k + 1) % lines] * step;
                }
                bare::raise(*written, turn);
            }
            return 0;
        };
    }
    return [=, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        std::int64_t total = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            bare::raise(*asked, ++turn);
            bare::await(*written, turn);
            const std::int64_t start = now_ns();
            std::uint64_t at = 0;
            for (std::uint64_t k = 0; k < lines; ++k) at = read(at);
            consume(at);
            total += now_ns() - start;
        }
        return total;
    };
}

contest transfer_contest(const selion::world& world) {
    const auto chain = selion::allocate<bare::flag_line>(world, chain_lines).on(1);
    const auto words = chain.reinterpret<std::uint64_t>();
    const std::uint64_t* const plain = words.local();
    return {"get 8 B, dirty in the other core (transfer)",
            {{"selion", chase(world, words,
                              [words](std::uint64_t at) {
                                  return selion::get(words + static_cast<std::ptrdiff_t>(at));
                              })},
             {"load", chase(world, words, [plain](std::uint64_t at) { return plain[at]; })}},
            chain_lines,
            true};
}

}  // namespace

std::vector<contest> signal_contests(const selion::world& world) {
    using enum bare::between_looks;
    std::vector<contest> all;
    all.push_back(transfer_contest(world));
    all.push_back(notify_contest(world));
    all.push_back(
        {"put_signal 8 B, one line, one way",
         {{"selion", selion_ping_pong(world, same_line)},
          {"bare flag", bare_ping_pong(world, 0)},
          {"bare flag, pause", bare_ping_pong<pause>(world, 0)},
          {"bare flag and payload in a line", bare_ping_pong(world, same_line)},
          {"bare flag and payload in a line, pause", bare_ping_pong<pause>(world, same_line)}},
         2,
         true});
    all.push_back(
        {"put_signal 8 B, two lines, one way",
         {{"selion", selion_ping_pong(world, other_line)},
          {"bare flag", bare_ping_pong(world, 0)},
          {"bare flag, pause", bare_ping_pong<pause>(world, 0)},
          {"bare flag, payload elsewhere", bare_ping_pong(world, other_line)},
          {"bare flag, payload elsewhere, pause", bare_ping_pong<pause>(world, other_line)}},
         2,
         true});
    return all;
}

loop signal_probe(const selion::world& world) {
    const loop round_trips = bare_ping_pong(world, 0);
    return [round_trips](std::uint64_t count) { return round_trips(count) / 2; };
}

}  // namespace bench
