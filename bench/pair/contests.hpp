// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <semaphore>
#include <vector>

#include "harness/contest.hpp"

/// The contests of two ranks. Rivals use the same symmetric memory and the same threads of control
/// as Selion, so that pages, cores and neighbours are equal.
namespace bench {

/// What the ranks of one process share with each other beside symmetric memory. Under `processes`
/// each rank has its own, and nobody may wait on it.
struct one_process {
    std::barrier<> standard{2};
    std::binary_semaphore is_over{0};
};

/// put, get, fetch_add and compare_swap of one word that only the caller uses at the time.
std::vector<contest> word_contests(const selion::world& world);
/// put and get of blocks, from a warm cache and from lines that are dirty in the other core.
std::vector<contest> block_contests(const selion::world& world);
/// One line, and one signal with and without payload, from core to core.
std::vector<contest> signal_contests(const selion::world& world);
/// Active messages, calls, floods of both, and a queue of puts.
std::vector<contest> message_contests(const selion::world& world);
/// One bare signal, to tell how far apart the cores are: see `contest::crosses_cores`.
loop signal_probe(const selion::world& world);
/// Barriers. @param shared null where the ranks share no process.
contest barrier_contest(selion::world& world, one_process* shared);
/// all_reduce and broadcast of 8 bytes, against the one signal that they cannot do without.
std::vector<contest> collective_contests(selion::world& world);

/// The barrier of OpenMP threads that stand where the ranks stand. @return no loop without OpenMP.
loop openmp_barrier(const selion::world& world, one_process& shared);

}  // namespace bench
