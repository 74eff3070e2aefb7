// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pair/bare.hpp"
#include "pair/contests.hpp"

namespace bench {
namespace {

enum class direction { put, get };

/// One block of rank 1 and one that is private to rank 0, and the two ways to copy between them.
struct block_pair {
    selion::global_ptr<std::byte> remote;
    std::vector<std::byte> own;

    block_pair(const selion::world& world, std::size_t bytes)
        : remote(selion::allocate<std::byte>(world, bytes, 4096).on(1)), own(bytes) {}

    void copy_by_selion(direction way) {
        if (way == direction::put) {
            selion::put(remote, std::span<const std::byte>(own));
        } else {
            selion::get(std::span(own), remote);
        }
        clobber();
    }

    void copy_by_memcpy(direction way) {
        std::size_t bytes = own.size();
        asm("" : "+r"(bytes));  // a size that the compiler does not know, as in a put
        if (way == direction::put) {
            std::memcpy(remote.local(), own.data(), bytes);
        } else {
            std::memcpy(own.data(), remote.local(), bytes);
        }
        clobber();
    }
};

std::string name_of(direction way, std::size_t bytes) {
    return (way == direction::put ? "put " : "get ") + (bytes < 1 << 20
                                                            ? std::to_string(bytes >> 10) + " KiB"
                                                            : std::to_string(bytes >> 20) + " MiB");
}

contest warm_contest(const selion::world& world, direction way, std::size_t bytes) {
    const auto blocks = std::make_shared<block_pair>(world, bytes);
    const auto by_selion = [blocks, way](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) blocks->copy_by_selion(way);
    };
    const auto by_memcpy = [blocks, way](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) blocks->copy_by_memcpy(way);
    };
    return {name_of(way, bytes),
            {{"selion", on_first(world, by_selion)}, {"memcpy", on_first(world, by_memcpy)}}};
}

/// Rank 1 writes its block, then rank 0 copies; only the copies are timed.
template <class Copy>
loop after_writing(const selion::world& world, const std::shared_ptr<block_pair>& blocks,
                   Copy copy) {
    const auto flags = selion::allocate<bare::flag_line>(world, 1);
    std::uint64_t* const asked = &flags.on(1).local()->flag;
    std::uint64_t* const done = &flags.on(0).local()->flag;
    if (world.rank() != 0) {
        return [=, turn = std::uint64_t{0}](std::uint64_t count) mutable -> std::int64_t {
            for (std::uint64_t i = 0; i < count; ++i) {
                bare::await(*asked, ++turn);
                std::memset(blocks->remote.local(), static_cast<int>(turn), blocks->own.size());
                bare::raise(*done, turn);
            }
            return 0;
        };
    }
    return [=, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        std::int64_t total = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            bare::raise(*asked, ++turn);
            bare::await(*done, turn);
            const std::int64_t start = now_ns();
            copy();
            total += now_ns() - start;
        }
        return total;
    };
}

contest dirty_contest(const selion::world& world, direction way, std::size_t bytes) {
    const auto blocks = std::make_shared<block_pair>(world, bytes);
    return {
        name_of(way, bytes) + ", dirty in the other core",
        {{"selion", after_writing(world, blocks, [blocks, way]() { blocks->copy_by_selion(way); })},
         {"memcpy",
          after_writing(world, blocks, [blocks, way]() { blocks->copy_by_memcpy(way); })}},
        1,
        true};
}

}  // namespace

std::vector<contest> block_contests(const selion::world& world) {
    std::vector<contest> all;
    for (const direction way : {direction::put, direction::get}) {
        for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{1} << 20}) {
            all.push_back(warm_contest(world, way, bytes));
            all.push_back(dirty_contest(world, way, bytes));
        }
    }
    return all;
}

}  // namespace bench
