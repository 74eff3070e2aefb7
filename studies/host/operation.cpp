// SPDX-License-Identifier: Apache-2.0
#include "operation.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

namespace host {

namespace {

constexpr std::array operations{"put", "get",     "put_signal", "fetch_add",
                                "rpc", "barrier", "all_reduce"};
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// Keeps the compiler from merging calls, or from leaving out those whose result nobody reads.
inline void keep_calls_apart() { asm volatile("" : : : "memory"); }

template <class T>
inline void use(T value) {
    asm volatile("" : : "r"(value) : "memory");
}

void expect(bool holds, const measured_call& call, const char* legal) {
    if (holds) return;
    throw study::bad_argument("'bytes' is " + std::to_string(call.bytes) + " for '" + call.op +
                              "'; legal: " + legal + ".");
}

template <class T>
repeated_call put_value(selion::global_ptr<T> target) {
    return [target](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            selion::put(target, static_cast<T>(i));
            keep_calls_apart();
        }
        selion::quiet();
    };
}

template <class T>
repeated_call get_value(selion::global_ptr<T> source) {
    return [source](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) use(selion::get(source));
    };
}

template <class T>
repeated_call add_value(selion::global_ptr<T> target) {
    return [target](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) use(selion::fetch_add(target, T{1}));
    };
}

using byte_buffer = std::shared_ptr<std::vector<std::byte>>;

repeated_call put_span(selion::global_ptr<std::byte> target, const byte_buffer& own) {
    return [target, own](std::uint64_t count) {
        const std::span<const std::byte> source(*own);
        for (std::uint64_t i = 0; i < count; ++i) {
            selion::put(target, source);
            keep_calls_apart();
        }
        selion::quiet();
    };
}

repeated_call get_span(selion::global_ptr<std::byte> source, const byte_buffer& own) {
    return [source, own](std::uint64_t count) {
        const std::span<std::byte> target(*own);
        for (std::uint64_t i = 0; i < count; ++i) {
            selion::get(target, source);
            keep_calls_apart();
        }
    };
}

repeated_call ask(std::uint32_t neighbour) {
    return [neighbour](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            use(selion::rpc(neighbour, [](std::uint64_t value) { return value; }, i).get());
        }
    };
}

/// Data with a signal go from rank to rank, round and round: each waits for them before it sends.
repeated_call pass_on(selion::world& world, selion::global_ptr<std::byte> remote,
                      std::uint64_t bytes) {
    const auto mine = selion::allocate<selion::signal>(world, 1);
    const std::uint32_t rank = world.rank();
    const std::uint32_t ranks = world.size();
    const auto theirs = mine.on((rank + 1) % ranks);
    const auto own = std::make_shared<std::vector<std::byte>>(bytes);
    return [=, came = std::uint64_t{0}](std::uint64_t count) mutable {
        const std::span<const std::byte> source(*own);
        // The one that sends in turn i, to the one that comes next.
        for (std::uint64_t i = rank == 0 ? 0 : rank - 1; i < count; ++i) {
            if (i % ranks == rank)
                selion::put_signal(remote, source, theirs, selion::signal_add(1));
            if ((i + 1) % ranks == rank) selion::wait_until(mine, ++came);
        }
    };
}

repeated_call one_sided(const measured_call& call, selion::global_ptr<std::byte> remote) {
    const auto word = remote.reinterpret<std::uint64_t>();
    const auto half = remote.reinterpret<std::uint32_t>();
    if (call.op == "fetch_add") return call.bytes == 8 ? add_value(word) : add_value(half);
    const bool puts = call.op == "put";
    if (call.bytes == 8) return puts ? put_value(word) : get_value(word);
    if (call.bytes == 4) return puts ? put_value(half) : get_value(half);
    const auto own = std::make_shared<std::vector<std::byte>>(call.bytes);
    return puts ? put_span(remote, own) : get_span(remote, own);
}

repeated_call reduce(selion::world& world, std::uint64_t bytes) {
    const auto vector = std::make_shared<std::vector<double>>(bytes / sizeof(double));
    return [&world, vector](std::uint64_t count) {
        const std::span<double> values(*vector);
        for (std::uint64_t i = 0; i < count; ++i) {
            if (values.size() == 1) {
                values[0] = world.all_reduce(values[0], selion::plus);
            } else {
                world.all_reduce(values, selion::plus);
            }
        }
    };
}

}  // namespace

measured_call read_call(const nlohmann::ordered_json& params) {
    const measured_call call{study::parameter<std::string>(params, "op"),
                             study::parameter<std::uint64_t>(params, "bytes")};
    if (std::find(operations.begin(), operations.end(), call.op) == operations.end()) {
        throw study::bad_argument("'op' is '" + call.op +
                                  "'; legal: put, get, put_signal, fetch_add, rpc, barrier, "
                                  "all_reduce.");
    }
    if (call.op == "barrier") {
        expect(call.bytes == 0, call, "0");
    } else if (call.op == "fetch_add") {
        expect(call.bytes == 4 || call.bytes == 8, call, "4, 8");
    } else if (call.op == "rpc") {
        expect(call.bytes == 8, call, "8");
    } else if (call.op == "all_reduce") {
        expect(call.bytes >= 8 && call.bytes <= most_bytes && call.bytes % 8 == 0, call,
               "8 to 67108864, multiples of 8");
    } else {
        expect(call.bytes >= 1 && call.bytes <= most_bytes, call, "1 to 67108864");
    }
    return call;
}

repeated_call prepare(selion::world& world, const measured_call& call) {
    if (call.op == "barrier") {
        return [&world](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) world.barrier();
        };
    }
    if (call.op == "all_reduce") return reduce(world, call.bytes);
    constexpr std::size_t page = 4096;
    const auto own = selion::allocate<std::byte>(world, call.bytes, page);
    const std::uint32_t neighbour = (world.rank() + 1) % world.size();
    if (call.op == "put_signal") return pass_on(world, own.on(neighbour), call.bytes);
    if (call.op == "rpc") return ask(neighbour);
    return one_sided(call, own.on(neighbour));
}

}  // namespace host
