// SPDX-License-Identifier: Apache-2.0
// Random reads, writes and atomics of all ranks on 1,000 blocks, with room for ten copies each.
//     coherent_load SECONDS
// Half of the words are added to by all; each of the others is written by one rank alone, always
// more, and read by all. So what every word must have in the end is known.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t blocks = 1000;
constexpr std::size_t block_bytes = 64;
constexpr std::size_t words = blocks * block_bytes / sizeof(std::uint64_t);
constexpr std::size_t copies = 10;

using memory = selion::cached_array<std::uint64_t, 1>;

/// What one rank has done to each word, and the largest it has seen.
struct account {
    std::vector<std::uint64_t> written = std::vector<std::uint64_t>(words);
    std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(words);
    std::uint64_t accesses = 0;
    std::uint64_t went_back = 0;
};

bool is_added_to(std::size_t word) { return word % 2 == 0; }

void access_once(const selion::world& world, const memory& array, account& own,
                 std::mt19937_64& random) {
    const std::size_t word = random() % words;
    ++own.accesses;
    if (random() % 2 == 0) {
        const std::uint64_t value = array(word);
        if (value < own.seen[word]) ++own.went_back;
        own.seen[word] = value;
    } else if (is_added_to(word)) {
        const std::uint64_t amount = random() % 1000;
        array(word).fetch_add(amount);
        own.written[word] += amount;
    } else if (word / 2 % world.size() == world.rank()) {
        own.written[word] += random() % 1000;
        array(word) = own.written[word];
    }
}

/// Bytes of the process's memory that are in use.
std::uint64_t used_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    unsigned long all = 0;
    unsigned long resident = 0;
    if (file == nullptr || std::fscanf(file, "%lu %lu", &all, &resident) != 2) return 0;
    std::fclose(file);
    return resident * 4096;
}

int load(selion::world& world, double seconds) {
    const memory array(world, {words}, selion::runs{block_bytes / sizeof(std::uint64_t)},
                       {.block_bytes = block_bytes,
                        .capacity_bytes = copies * block_bytes,
                        .protocol = selion::cache_protocol::always},
                       "words");
    account own;
    std::mt19937_64 random(world.rank() + 1);
    const std::int64_t begin = world.now();
    const auto end = begin + static_cast<std::int64_t>(seconds * 1e9);
    std::uint64_t used_early = 0;
    while (world.now() < end) {
        for (int i = 0; i < 100; ++i) access_once(world, array, own, random);
        if (used_early == 0 && world.now() - begin > (end - begin) / 4) used_early = used_bytes();
    }
    const std::uint64_t used_late = used_bytes();
    world.barrier();
    std::vector<std::uint64_t> expected = own.written;
    world.all_reduce(std::span(expected), selion::plus);
    std::uint64_t wrong = own.went_back;
    for (std::size_t word = world.rank(); word < words; word += world.size()) {
        if (array(word) != expected[word]) ++wrong;
    }
    wrong = world.all_reduce(wrong, selion::plus);
    const std::uint64_t accesses = world.all_reduce(own.accesses, selion::plus);
    const std::uint64_t most_copies =
        world.all_reduce(array.space().counts().copy_entries, selion::maximum);
    if (world.rank() == 0) {
        std::printf(
            "%llu accesses, %llu wrong, at most %llu copies, %lld KiB more memory\n",
            static_cast<unsigned long long>(accesses), static_cast<unsigned long long>(wrong),
            static_cast<unsigned long long>(most_copies),
            (static_cast<long long>(used_late) - static_cast<long long>(used_early)) / 1024);
    }
    world.barrier();
    selion::deallocate(world, array);
    return wrong == 0 && most_copies <= copies ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    return selion::run(argc, argv, [&](selion::world& world) { return load(world, seconds); });
}
