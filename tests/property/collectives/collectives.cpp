// SPDX-License-Identifier: Apache-2.0
/// Random series of collectives on random machines, against what one rank works out alone.
#include <rapidcheck/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "selion/selion.hpp"

namespace selion {
namespace {

struct call {
    enum class kind { broadcast, reduce_words, reduce_maps, barrier } what;
    std::uint32_t root;
    std::size_t count;
    std::uint64_t seed;
};

/// x -> a x + b modulo 2^32: composition is associative and has an order.
struct affine_map {
    std::uint32_t a;
    std::uint32_t b;
    bool operator==(const affine_map&) const = default;
};

constexpr auto compose = [](const affine_map& f, const affine_map& g) {
    return affine_map{f.a * g.a, f.a * g.b + f.b};
};

std::uint64_t word(const call& which, std::uint32_t rank, std::size_t index) {
    return (which.seed + rank) * 0x9e3779b97f4a7c15ull + index * 0xd6e8feb86659fd93ull;
}

affine_map map_of(const call& which, std::uint32_t rank, std::size_t index) {
    const std::uint64_t bits = word(which, rank, index);
    return {static_cast<std::uint32_t>(bits) | 1, static_cast<std::uint32_t>(bits >> 32)};
}

template <class T, class Make, class Operation>
bool reduce_is_right(const world& all, const call& which, Make make, const Operation& operation) {
    std::vector<T> data;
    for (std::size_t i = 0; i < which.count; ++i) data.push_back(make(which, all.rank(), i));
    all.all_reduce(std::span(data), operation);
    for (std::size_t i = 0; i < which.count; ++i) {
        T expected = make(which, 0, i);
        for (std::uint32_t rank = 1; rank < all.size(); ++rank) {
            expected = operation(expected, make(which, rank, i));
        }
        if (!(data[i] == expected)) return false;
    }
    return true;
}

bool broadcast_is_right(const world& all, const call& which) {
    const std::uint32_t root = which.root % all.size();
    std::vector<std::uint64_t> data;
    for (std::size_t i = 0; i < which.count; ++i) data.push_back(word(which, all.rank(), i));
    all.broadcast(std::span(data), root);
    for (std::size_t i = 0; i < which.count; ++i) {
        if (data[i] != word(which, root, i)) return false;
    }
    return true;
}

bool is_right(const world& all, const call& which) {
    switch (which.what) {
        case call::kind::broadcast: return broadcast_is_right(all, which);
        case call::kind::reduce_words:
            return reduce_is_right<std::uint64_t>(all, which, word, plus);
        case call::kind::reduce_maps:
            return reduce_is_right<affine_map>(all, which, map_of, compose);
        case call::kind::barrier: all.barrier(); return true;
    }
    return false;
}

rc::Gen<call> any_call() {
    using kind = call::kind;
    return rc::gen::build<call>(
        rc::gen::set(&call::what, rc::gen::element(kind::broadcast, kind::reduce_words,
                                                   kind::reduce_maps, kind::barrier)),
        rc::gen::set(&call::root, rc::gen::inRange(0u, 100u)),
        // Mostly small, sometimes several slots long.
        rc::gen::set(&call::count, rc::gen::weightedOneOf<std::size_t>(
                                       {{8, rc::gen::inRange<std::size_t>(0, 50)},
                                        {1, rc::gen::inRange<std::size_t>(0, 10'000)}})),
        rc::gen::set(&call::seed, rc::gen::arbitrary<std::uint64_t>()));
}

RC_GTEST_PROP(collectives, random_series_on_random_machines, ()) {
    const auto ranks = *rc::gen::inRange(1u, 8u);
    const auto carriers = *rc::gen::inRange(1u, ranks + 1);
    const std::string machine = "threads:" + std::to_string(ranks) + "@" +
                                std::to_string(carriers) +
                                *rc::gen::element<std::string>("", ",direct=off");
    const auto calls = *rc::gen::container<std::vector<call>>(any_call());
    std::atomic<std::size_t> wrong = calls.size();
    const int status = run(0, nullptr, run_options{.machine = machine}, [&](world& all) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (!is_right(all, calls[i]) && i < wrong) wrong = i;
        }
    });
    RC_LOG() << machine << ", first wrong call: " << wrong << " of " << calls.size() << '\n';
    RC_ASSERT(status == 0);
    RC_ASSERT(wrong == calls.size());
}

}  // namespace
}  // namespace selion
