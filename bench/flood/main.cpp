// SPDX-License-Identifier: Apache-2.0
// bench_flood [SECONDS]: all ranks but one send to rank 0 as fast as they can, 16 bytes and 1 MB by
// turns, and compare what was sent with what came. Prints one line of JSON: what each sender got
// through, the largest share over the smallest, and the most memory that was in use.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t small_bytes = 16;
constexpr std::size_t large_bytes = 1 << 20;
/// So many small messages come before each large one.
constexpr std::uint64_t smalls = 63;

/// What rank 0 has received of one sender.
struct account {
    std::uint64_t messages;
    std::uint64_t bytes;
    std::uint64_t faults;  ///< out of order, or not what was sent
};

struct note {
    selion::global_ptr<account> book;
    std::uint64_t number;
};

std::byte letter_of(std::uint32_t rank) { return static_cast<std::byte>(rank); }

selion::arrival receive(const note& came, selion::message_info about) {
    account& of_sender = came.book.local()[about.origin];
    const bool is_whole = std::ranges::all_of(
        std::array{about.data.front(), about.data[about.data.size() / 2], about.data.back()},
        [&](std::byte seen) { return seen == letter_of(about.origin); });
    of_sender.faults += came.number != of_sender.messages || !is_whole ? 1 : 0;
    ++of_sender.messages;
    of_sender.bytes += about.data_bytes;
    return {};
}

std::uint64_t send_until(const selion::world& world, selion::global_ptr<account> book,
                         std::int64_t end_ns) {
    const std::vector<std::byte> data(large_bytes, letter_of(world.rank()));
    std::uint64_t sent = 0;
    while (world.now() < end_ns) {
        const std::size_t bytes = sent % (smalls + 1) == smalls ? large_bytes : small_bytes;
        selion::send(0, receive, note{book, sent}, std::span(data).first(bytes));
        ++sent;
    }
    return sent;
}

/// The most memory that this process has used, in MiB.
std::uint64_t most_memory_mib() {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        if (std::sscanf(line, "VmHWM: %llu kB", &kib) == 1) break;
    }
    if (file != nullptr) std::fclose(file);
    return kib / 1024;
}

int flood(selion::world& world, double seconds) {
    const auto book = selion::allocate<account>(world, world.size());
    const auto sent = selion::allocate<std::uint64_t>(world, world.size());
    world.barrier();
    const std::int64_t start_ns = world.now();
    const auto length_ns = static_cast<std::int64_t>(seconds * 1e9);
    if (world.rank() != 0) {
        const std::uint64_t own = send_until(world, book.on(0), start_ns + length_ns);
        selion::put(sent.on(0) + world.rank(), own);
        selion::rpc(0, [] {}).wait();  // all that came before has been handled
    }
    world.barrier();
    if (world.rank() != 0) return 0;
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    std::uint64_t lost = 0;
    std::uint64_t faults = 0;
    std::printf("{\"machine\": \"%s\", \"seconds\": %.1f, \"messages\": [",
                world.machine().spec.c_str(), seconds);
    for (std::uint32_t rank = 1; rank < world.size(); ++rank) {
        const account& of_sender = book.local()[rank];
        least = std::min(least, of_sender.messages);
        most = std::max(most, of_sender.messages);
        lost += sent.local()[rank] - of_sender.messages;
        faults += of_sender.faults;
        std::printf("%s%llu", rank == 1 ? "" : ", ",
                    static_cast<unsigned long long>(of_sender.messages));
    }
    std::printf("], \"lost\": %llu, \"faults\": %llu, \"share\": %.2f, \"memory_mib\": %llu}\n",
                static_cast<unsigned long long>(lost), static_cast<unsigned long long>(faults),
                static_cast<double>(most) / static_cast<double>(std::max<std::uint64_t>(least, 1)),
                static_cast<unsigned long long>(most_memory_mib()));
    return lost == 0 && faults == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr double most_seconds = 1e6;
    char* end = nullptr;
    const double seconds = argc > 1 ? std::strtod(argv[1], &end) : 60;
    if ((end != nullptr && *end != 0) || !(seconds > 0 && seconds <= most_seconds)) {
        std::fprintf(stderr, "bench_flood: \"%s\" is no number of seconds up to a million\n",
                     argv[1]);
        return 2;
    }
    return selion::run(argc, argv, {.machine = "threads:8"},
                       [&](selion::world& world) { return flood(world, seconds); });
}
