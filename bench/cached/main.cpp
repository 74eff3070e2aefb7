// SPDX-License-Identifier: Apache-2.0
// Two ranks and coherent memory with its protocol: hits, misses, and a product of matrices whose
// elements are read through references.
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/contest.hpp"
#include "harness/pair.hpp"

namespace {

using bench::consume;
using bench::contest;

constexpr std::size_t block_bytes = 64;
constexpr selion::cached with_protocol(std::size_t capacity_bytes = 0) {
    return {.block_bytes = block_bytes,
            .capacity_bytes = capacity_bytes,
            .protocol = selion::cache_protocol::always};
}

/// Elements of rank 1 in 512 blocks, and steps that make accesses independent of each other.
constexpr std::size_t elements = 4096;
constexpr std::size_t next_of(std::size_t i) { return (i + 1031) % elements; }

using words = selion::cached_array<std::uint64_t, 1>;

words words_of_both(const selion::world& world) {
    return {world, {2 * elements}, selion::runs{elements}, with_protocol()};
}

contest read_hit(const selion::world& world) {
    const words array = words_of_both(world);
    std::uint64_t* const plain = selion::allocate<std::uint64_t>(world, elements).on(1).local();
    const auto cached = [array](std::uint64_t count) {
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(array(elements + at).get());
            at = next_of(at);
        }
    };
    const auto load = [plain](std::uint64_t count) {
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(plain[at]);
            at = next_of(at);
        }
    };
    const auto first = array.address_of({elements});
    const auto through_pointer = [array, first](std::uint64_t count) {
        const selion::coherent_space space = array.space();
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(space.at(first + static_cast<std::ptrdiff_t>(at)).get());
            at = next_of(at);
        }
    };
    return {"cached read, hit",
            {{"selion", bench::on_first(world, through_pointer)},
             {"by index", bench::on_first(world, cached)},
             {"load", bench::on_first(world, load)}}};
}

contest write_hit(const selion::world& world) {
    const words array = words_of_both(world);
    const auto first = array.address_of({elements});
    std::uint64_t* const plain = selion::allocate<std::uint64_t>(world, elements).on(1).local();
    const auto through_pointer = [array, first](std::uint64_t count) {
        const selion::coherent_space space = array.space();
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            space.at(first + static_cast<std::ptrdiff_t>(at)) = i;
            bench::clobber();
            at = next_of(at);
        }
    };
    const auto by_index = [array](std::uint64_t count) {
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            array(elements + at) = i;
            bench::clobber();
            at = next_of(at);
        }
    };
    const auto store = [plain](std::uint64_t count) {
        std::size_t at = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            plain[at] = i;
            bench::clobber();
            at = next_of(at);
        }
    };
    return {"cached write, hit",
            {{"selion", bench::on_first(world, through_pointer)},
             {"by index", bench::on_first(world, by_index)},
             {"store", bench::on_first(world, store)}}};
}

/// With room for one block each read of another one asks its home.
contest miss_at_home(const selion::world& world) {
    const words array(world, {2 * elements}, selion::runs{elements}, with_protocol(block_bytes));
    const auto cached = [array](std::uint64_t count) {
        constexpr std::size_t in_block = block_bytes / sizeof(std::uint64_t);
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(array(elements + i * in_block % elements).get());
        }
    };
    return {"cached read, the home has it", {{"selion", bench::on_first(world, cached)}}};
}

constexpr std::size_t d = 512;

/// The next of the caller's elements: of each row those of every second column.
struct own_element {
    std::size_t i = 0;
    std::size_t j;
    explicit own_element(std::uint32_t rank) : j(rank) {}
    void go_on() {
        j += 2;
        if (j < d) return;
        j -= d;
        if (++i == d) i = 0;
    }
};

/// Each count is one element of the product.
contest naive_product(const selion::world& world) {
    using matrix = selion::cached_array<double, 2>;
    const selion::coordinates<2> extents{d, d};
    const auto make = [&] { return matrix(world, extents, selion::tiles(1, 1), with_protocol()); };
    const matrix a = make();
    const matrix b = make();
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            consume(a(i, j).get());
            consume(b(i, j).get());
        }
    }
    world.barrier();
    auto place = std::make_shared<own_element>(world.rank());
    const auto cached = [=](std::uint64_t count) {
        // Copies of the handles: the compiler must take what a lambda captures for changed memory.
        const matrix first = a;
        const matrix second = b;
        for (std::uint64_t n = 0; n < count; ++n) {
            const auto [i, j] = *place;
            double sum = 0;
            for (std::size_t k = 0; k < d; ++k) sum += first(i, k) * second(k, j);
            consume(sum);
            place->go_on();
        }
    };
    auto left = std::make_shared<std::vector<double>>(d * d);
    auto right = std::make_shared<std::vector<double>>(d * d);
    auto plain_place = std::make_shared<own_element>(world.rank());
    const auto plain = [=](std::uint64_t count) {
        const double* const first = left->data();
        const double* const second = right->data();
        for (std::uint64_t n = 0; n < count; ++n) {
            double sum = 0;
            for (std::size_t k = 0; k < d; ++k) {
                sum += first[plain_place->i * d + k] * second[k * d + plain_place->j];
            }
            consume(sum);
            plain_place->go_on();
        }
    };
    contest one{"step of a naive product, 512 x 512",
                {{"selion", bench::on_all(cached)}, {"local arrays", bench::on_all(plain)}}};
    one.operations_per_count = d;
    return one;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse_settings(argc, argv, {});
    const int processors = bench::usable_processors();
    return selion::run(argc, argv, {.machine = "processes:2"}, [&](selion::world& world) {
        if (!bench::is_pair(world, "bench_cached", processors)) return 2;
        std::vector<contest> all{read_hit(world), write_hit(world), miss_at_home(world),
                                 naive_product(world)};
        bench::measure(world, all, {}, how);
        return 0;
    });
}
