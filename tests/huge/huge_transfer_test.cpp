// SPDX-License-Identifier: Apache-2.0
/// Transfers of more than 2^31 bytes from rank 0 to the last rank; distances, and sums of bytes, of
/// more than 2^32.
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "conformance/memory_parts.hpp"

namespace {

constexpr std::uint64_t limit = std::uint64_t{1} << 31;
constexpr std::uint64_t huge_bytes = limit + 65543;

/// Number in a file: its first word, or the one behind `name`.
std::optional<std::uint64_t> number_in(const char* path, const std::string& name = "") {
    std::ifstream file(path);
    std::string word;
    while (!name.empty() && file >> word && word != name) {
    }
    std::uint64_t number = 0;
    return file >> number ? std::optional(number) : std::nullopt;
}

std::uint64_t available_bytes() {
    std::uint64_t bytes = number_in("/proc/meminfo", "MemAvailable:").value_or(0) * 1024;
    const auto most = number_in("/sys/fs/cgroup/memory.max");
    const auto in_use = number_in("/sys/fs/cgroup/memory.current");
    if (most && in_use) bytes = std::min(bytes, *most - std::min(*most, *in_use));
    return bytes;
}

/// Collective. @param bytes that each rank is going to allocate.
bool has_memory(spmd::test_run& test, selion::world& world, std::uint64_t bytes) {
    constexpr std::uint64_t for_others = std::uint64_t{1} << 30;
    const std::uint64_t needed = bytes * world.size() + for_others;
    const std::uint64_t available = world.broadcast(available_bytes(), 0);
    if (available >= needed && world.heap().reserved_bytes > bytes) return true;
    test.skip("needs " + selion::base::bytes_text(needed) + " of memory; " +
              selion::base::bytes_text(available) +
              " are available, and a rank's heap may grow to " +
              selion::base::bytes_text(world.heap().reserved_bytes));
    return false;
}

/// Bytes of which only a few are ever touched.
using wide_range = spmd::symmetric_array<std::byte>;
constexpr std::uint64_t wide_bytes = 2 * limit + 65536;

/// Two rows whose places lie more than 2^32 bytes apart: upwards, downwards and back.
void move_rows(spmd::test_run& test, const wide_range& range, selion::rank_id to) {
    constexpr std::size_t row = 21;
    constexpr std::ptrdiff_t near = row;
    constexpr std::ptrdiff_t far = 2 * limit + 3;
    const std::vector<std::byte> rows = spmd::message(to, 2 * row);
    const auto holds = [&](std::uint64_t offset, std::span<const std::byte> expected) {
        std::vector<std::byte> found(expected.size());
        selion::get(std::span(found), range.at(to, offset));
        test.that(std::ranges::equal(found, expected), "a row is where it belongs");
    };
    const std::array up{selion::stride{2, far, near}};
    selion::put_strided(range.at(to, 7), rows.data(), row, up);
    selion::quiet();
    holds(7, std::span(rows).first(row));
    holds(7 + far, std::span(rows).last(row));
    const std::array down{selion::stride{2, -far, near}};
    selion::put_strided(range.at(to, 1009 + far), rows.data(), row, down);
    selion::quiet();
    holds(1009 + far, std::span(rows).first(row));
    holds(1009, std::span(rows).last(row));
    std::vector<std::byte> back(rows.size());
    const std::array gather{selion::stride{2, near, far}};
    selion::get_strided(back.data(), range.at(to, 7), row, gather);
    test.that(back == rows, "the rows come back");
}

/// Distances that 31 bits count in elements, but not in bytes; on both sides.
void move_words(spmd::test_run& test, const wide_range& range, selion::rank_id to) {
    constexpr std::ptrdiff_t far = 2 * limit / sizeof(std::uint64_t) + 1;
    auto* const own = reinterpret_cast<std::uint64_t*>(range.mine());
    const selion::global_ptr<std::uint64_t> target(to, range.at(to, 4096).offset());
    own[0] = 17;
    own[far] = 18;
    const std::array both{selion::stride{2, far, far}};
    selion::put_strided(target, own, 1, both);
    selion::quiet();
    test.equal(selion::get(target), 17u);
    test.equal(selion::get(target + far), 18u);
}

// The first test: memory that has been used before is cleared.
SPMD_TEST(huge, distances) {
    if (!has_memory(test, world, wide_bytes)) return;
    const wide_range range(world, wide_bytes);
    if (world.rank() == 0) {
        move_rows(test, range, world.size() - 1);
        move_words(test, range, world.size() - 1);
    }
    world.barrier();
}

/// More than 2^31 bytes on every rank. Most of them stay zero; marks tell where they belong.
class huge_range {
public:
    explicit huge_range(selion::world& world) : memory_(world, huge_bytes + spmd::guard_bytes) {}

    selion::global_ptr<std::byte> on(selion::rank_id rank, std::uint64_t offset = 0) const {
        return memory_.at(rank, offset);
    }
    std::span<std::byte> mine() const { return {memory_.mine(), huge_bytes}; }

    void mark(std::uint64_t salt) const {
        for_all_marks([&](std::uint64_t at) {
            const std::uint64_t word = mark_at(at, salt);
            std::memcpy(memory_.mine() + at, &word, sizeof word);
        });
    }
    void clear_marks() const {
        for_all_marks(
            [&](std::uint64_t at) { std::memset(memory_.mine() + at, 0, sizeof(std::uint64_t)); });
    }
    void check(spmd::test_run& test, std::uint64_t salt,
               std::source_location site = std::source_location::current()) const {
        for_all_marks([&](std::uint64_t at) {
            std::uint64_t word = 0;
            std::memcpy(&word, memory_.mine() + at, sizeof word);
            test.that(word == mark_at(at, salt), "the mark at " + std::to_string(at) + " is there",
                      site);
        });
        const std::span<const std::byte> guard(memory_.mine() + huge_bytes, spmd::guard_bytes);
        test.that(spmd::is_untouched(guard, std::byte{}), "the bytes behind are untouched", site);
    }

private:
    static std::uint64_t mark_at(std::uint64_t at, std::uint64_t salt) {
        return (at + salt) * 0x9e3779b97f4a7c15 | 1;
    }
    /// At the start, across 2^31, at the end, and here and there.
    template <class Visit>
    static void for_all_marks(Visit visit) {
        constexpr std::uint64_t distance = 999983;
        for (std::uint64_t at = 0; at < limit - distance; at += distance) visit(at);
        visit(limit - 12);
        visit(limit - 4);
        visit(limit + 4);
        visit(huge_bytes - sizeof(std::uint64_t));
    }

    spmd::symmetric_array<std::byte> memory_;
};

/// One rank's part of what follows. All tests use one range: most of their time goes into touching
/// its pages for the first time.
struct part {
    spmd::test_run& test;
    selion::world& world;
    const huge_range& range;
    selion::rank_id last = world.size() - 1;
    bool is_first = world.rank() == 0;
    bool is_last = world.rank() == last;
};

void put_and_get(const part& my) {
    if (my.is_first) {
        my.range.mark(1);
        selion::counter done;
        selion::put(my.range.on(my.last), my.range.mine(), done);
        done.wait();
        std::vector<std::byte> some(99991);
        constexpr std::uint64_t start = limit - 50021;
        selion::get(std::span(some), my.range.on(my.last, start));
        my.test.that(std::ranges::equal(some, my.range.mine().subspan(start, some.size())),
                     "a part comes back");
        my.range.clear_marks();
        selion::get(my.range.mine(), my.range.on(my.last), done);
        done.wait();
        my.range.check(my.test, 1);
    }
    my.world.barrier();
    if (my.is_last) my.range.check(my.test, 1);
    my.world.barrier();
}

/// Rows that are longer than 2^31 bytes only all together; of pieces one is so by itself.
void put_rows_and_get_pieces(const part& my) {
    constexpr std::size_t row = huge_bytes / 2;
    constexpr std::size_t rest = huge_bytes - 2 * row;
    constexpr std::size_t piece = limit + 9;
    if (my.is_first) {
        my.range.mark(6);
        const std::span<std::byte> own = my.range.mine();
        const std::array rows{selion::stride{2, row, row}};
        selion::put_strided(my.range.on(my.last), own.data(), row, rows);
        selion::put(my.range.on(my.last, 2 * row), std::span<const std::byte>(own.last(rest)));
        selion::quiet();
        my.range.clear_marks();
        const std::array pieces{
            selion::get_piece<std::byte>{own.first(piece), my.range.on(my.last)},
            selion::get_piece<std::byte>{own.subspan(piece), my.range.on(my.last, piece)}};
        selion::get_vector(std::span(pieces));
        my.range.check(my.test, 6);
    }
    my.world.barrier();
    if (my.is_last) my.range.check(my.test, 6);
    my.world.barrier();
}

void put_with_a_signal(const part& my) {
    const spmd::symmetric_array<selion::signal> arrived(my.world, 1);
    if (my.is_first) {
        my.range.mark(2);
        selion::put_signal(my.range.on(my.last), my.range.mine(), arrived.at(my.last),
                           selion::signal_add(1));
    }
    if (my.is_last) {
        selion::wait_until(arrived.own(), 1);
        my.range.check(my.test, 2);
    }
    my.world.barrier();
}

/// Their sum is more than 2^32.
void store_twice(const part& my) {
    static_assert(2 * huge_bytes > std::uint64_t{1} << 32);
    if (my.is_first) {
        for (const std::uint64_t salt : {3, 4}) {
            my.range.mark(salt);
            selion::store(my.range.on(my.last), my.range.mine());
        }
    }
    if (my.is_last) {
        selion::store_sync(2 * huge_bytes);
        my.range.check(my.test, 4);
    }
    my.world.barrier();
}

/// Where a message goes, and where its handler notes how long it was.
struct destination {
    selion::global_ptr<std::byte> place;
    selion::global_ptr<std::uint64_t> bytes;
};

void send_lent_data(const part& my) {
    const spmd::symmetric_array<std::uint64_t> bytes(my.world, 1);
    if (my.is_first) {
        my.range.mark(5);
        selion::counter reusable;
        selion::counter done;
        selion::send(my.last,
                     [](const destination& where, selion::message_info about) {
                         *where.bytes.local() = about.data.size();
                         return selion::arrival{.place = where.place.local()};
                     },
                     destination{my.range.on(my.last), bytes.at(my.last)}, my.range.mine(),
                     {.origin = &reusable, .completion = &done});
        reusable.wait();
        done.wait();
    }
    my.world.barrier();
    if (my.is_last) {
        my.test.equal(*bytes.mine(), huge_bytes);
        my.range.check(my.test, 5);
    }
    my.world.barrier();
}

SPMD_TEST(huge, transfers) {
    if (!has_memory(test, world, huge_bytes)) return;
    const huge_range range(world);
    const part my{test, world, range};
    put_and_get(my);
    put_rows_and_get_pieces(my);
    put_with_a_signal(my);
    store_twice(my);
    send_lent_data(my);
}

}  // namespace
