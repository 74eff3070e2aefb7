// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include <selion/selion.hpp>

#include "harness/blocks.hpp"

namespace prediction {
namespace {

constexpr std::array operations{"put", "get",     "put_signal", "fetch_add",
                                "rpc", "barrier", "all_reduce", "broadcast"};
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr std::size_t page_bytes = 4096;

/// Makes that many calls. What only rank 0 does, the others wait for.
using calls = std::function<void(std::uint64_t count)>;

struct plan {
    calls make;
    double calls_per_count = 1;  ///< 2 for a round trip that is reported as one way
};

/// Keeps the compiler from merging calls, or from leaving out those whose result nobody reads.
template <class T>
inline void use(const T& value) {
    asm volatile("" : : "r"(value) : "memory");
}

plan only_first(const selion::world& world, calls make) {
    if (world.rank() == 0) return {std::move(make)};
    return {[](std::uint64_t) {}};
}

plan move_word(const selion::world& world, const timed_call& call) {
    const auto target = selion::allocate<std::uint64_t>(world, 16, page_bytes).on(1);
    if (call.op == "fetch_add") {
        return only_first(world, [target](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) use(selion::fetch_add(target, 1));
        });
    }
    if (call.op == "get") {
        return only_first(world, [target](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) use(selion::get(target));
        });
    }
    return only_first(world, [target](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            selion::put(target, i);
            use(i);
        }
        selion::quiet();
    });
}

plan move_block(const selion::world& world, const timed_call& call) {
    const auto remote = selion::allocate<std::byte>(world, call.bytes, page_bytes).on(1);
    const auto own = std::make_shared<std::vector<std::byte>>(call.bytes);
    return only_first(world, [remote, own, puts = call.op == "put"](std::uint64_t count) {
        const std::span<std::byte> here(*own);
        for (std::uint64_t i = 0; i < count; ++i) {
            if (puts) {
                selion::put(remote, here);
            } else {
                selion::get(here, remote);
            }
            use(here.data());
        }
        selion::quiet();
    });
}

/// A payload beside its signal, in one cache line.
struct alignas(128) signal_line {
    selion::signal announcement;
    std::uint64_t payload;
};

plan pass_signals(const selion::world& world) {
    const auto own = selion::allocate<signal_line>(world, 1);
    const auto signal_of = [](selion::global_ptr<signal_line> line) {
        return line.reinterpret<selion::signal>();
    };
    static_assert(sizeof(selion::signal) % sizeof(std::uint64_t) == 0);
    const auto payload_of = [](selion::global_ptr<signal_line> line) {
        constexpr auto words = sizeof(selion::signal) / sizeof(std::uint64_t);
        return line.reinterpret<std::uint64_t>() + static_cast<std::ptrdiff_t>(words);
    };
    const auto other = own.on(1 - world.rank());
    const auto send = [=](std::uint64_t turn) {
        selion::put_signal(payload_of(other), turn, signal_of(other), selion::signal_set(turn));
    };
    const auto receive = [=](std::uint64_t turn) {
        selion::wait_until(signal_of(own), turn);
        use(selion::get(payload_of(own)));
    };
    return {[=, starts = world.rank() == 0, turn = std::uint64_t{0}](std::uint64_t count) mutable {
                for (std::uint64_t i = 0; i < count; ++i) {
                    ++turn;
                    if (starts) send(turn);
                    receive(turn);
                    if (!starts) send(turn);
                }
            },
            2};
}

plan ask(const selion::world& world) {
    return only_first(world, [](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            use(selion::rpc(1, [](std::uint64_t value) { return value; }, i).get());
        }
    });
}

plan collective(selion::world& world, const std::string& op) {
    if (op == "barrier") {
        return {[&world](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) world.barrier();
        }};
    }
    if (op == "all_reduce") {
        return {[&world](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) use(world.all_reduce(i, selion::plus));
        }};
    }
    // The root changes with each call: else it would run ahead and nobody would wait for anybody.
    return {[&world](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            use(world.broadcast(i, static_cast<std::uint32_t>(i % world.size())));
        }
    }};
}

plan prepare(selion::world& world, const timed_call& call) {
    if (call.op == "put_signal") return pass_signals(world);
    if (call.op == "fetch_add") return move_word(world, call);
    if (call.op == "rpc") return ask(world);
    if (call.op == "put" || call.op == "get") {
        return call.bytes == 8 ? move_word(world, call) : move_block(world, call);
    }
    return collective(world, call.op);
}

/// All ranks get the time of the slowest one, and so decide alike.
std::int64_t time_block(selion::world& world, const plan& what, std::uint64_t count) {
    world.barrier();
    const std::int64_t start = world.now();
    what.make(count);
    return world.all_reduce(world.now() - start, selion::maximum);
}

}  // namespace

timed_call read_call(const nlohmann::ordered_json& params) {
    timed_call call{study::parameter<std::string>(params, "op"),
                    study::parameter<std::uint64_t>(params, "bytes")};
    if (std::find(operations.begin(), operations.end(), call.op) == operations.end()) {
        throw study::bad_argument("'op' is '" + call.op +
                                  "'; legal: put, get, put_signal, fetch_add, rpc, barrier, "
                                  "all_reduce, broadcast.");
    }
    const bool is_block = call.op == "put" || call.op == "get";
    const bool fits = call.op == "barrier" ? call.bytes == 0
                      : is_block           ? call.bytes >= 1 && call.bytes <= most_bytes
                                           : call.bytes == 8;
    if (!fits) {
        throw study::bad_argument(
            "'bytes' is " + std::to_string(call.bytes) + " for '" + call.op +
            "'; legal: 0 for barrier, 1 to 67108864 for put and get, else 8.");
    }
    return call;
}

study::spread time_call(selion::world& world, const timed_call& call) {
    constexpr int samples = 101;
    const plan what = prepare(world, call);
    const std::uint64_t count = study::calls_per_block([&](std::uint64_t calls) {
        const std::int64_t first = time_block(world, what, calls);
        return std::min(first, time_block(world, what, calls));
    });
    std::vector<double> each;
    for (int i = 0; i < samples; ++i) {
        each.push_back(static_cast<double>(time_block(world, what, count)) /
                       (static_cast<double>(count) * what.calls_per_count));
    }
    return study::spread_of(each);
}

}  // namespace prediction
