// SPDX-License-Identifier: Apache-2.0
/// Times single operations of rank 0 on another rank's memory while all others wait or, with
/// `busy`, compute, and prints a JSON object for each size:
/// operation_times [busy] put|get|atomic TO BYTES...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

struct request {
    std::string_view operation;
    std::uint32_t target;
    std::vector<std::size_t> sizes;
    bool others_compute = false;
};

/// One operation from its call until it is complete, in picoseconds.
std::int64_t time_of(selion::world& world, const request& what, std::size_t bytes,
                     selion::global_ptr<std::byte> memory, std::vector<std::byte>& buffer) {
    const auto word = memory.reinterpret<std::uint64_t>();
    // What came before is taken here, and what that causes is over everywhere.
    selion::charge(selion::nanoseconds(1'000'000'000));
    selion::quiet();
    selion::charge(selion::nanoseconds(1'000'000'000));
    const std::int64_t start_ps = world.now_ps();
    if (what.operation == "put") {
        selion::put(memory, std::span<const std::byte>(buffer.data(), bytes));
        selion::quiet();
    } else if (what.operation == "get") {
        selion::get(std::span(buffer.data(), bytes), memory);
    } else {
        selion::fetch_add(word, 1);
    }
    return world.now_ps() - start_ps;
}

void measure(selion::world& world, const request& what) {
    std::size_t largest = sizeof(std::uint64_t);
    for (const std::size_t bytes : what.sizes) largest = std::max(largest, bytes);
    const auto memory = selion::allocate_local<std::byte>(world, largest, 64);
    std::vector<std::byte> buffer(largest, std::byte{1});
    world.barrier();
    if (world.rank() == 0) {
        for (const std::size_t bytes : what.sizes) {
            const std::int64_t ps = time_of(world, what, bytes, memory.on(what.target), buffer);
            std::printf("{\"operation\":\"%.*s\",\"bytes\":%zu,\"ps\":%lld}\n",
                        static_cast<int>(what.operation.size()), what.operation.data(), bytes,
                        static_cast<long long>(ps));
        }
    } else if (what.others_compute) {
        selion::charge(selion::nanoseconds(1'000'000'000'000));
    }
    world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
    const bool others_compute = argc > 1 && std::strcmp(argv[1], "busy") == 0;
    const int first = others_compute ? 2 : 1;
    if (argc < first + 3) {
        std::fprintf(stderr, "usage: operation_times [busy] put|get|atomic TO BYTES...\n");
        return 2;
    }
    request what{
        argv[first], static_cast<std::uint32_t>(std::atoi(argv[first + 1])), {}, others_compute};
    for (int i = first + 2; i < argc; ++i) {
        what.sizes.push_back(std::strtoul(argv[i], nullptr, 10));
    }
    return selion::run(argc, argv, [&](selion::world& world) { measure(world, what); });
}
