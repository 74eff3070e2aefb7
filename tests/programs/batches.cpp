// SPDX-License-Identifier: Apache-2.0
/// Small operations that follow each other, to the next rank.
///
///   batches rows COUNT      COUNT puts, atomics, gets and messages, each kind in a row
///   batches ends COUNT      rows of 1 to COUNT puts, each with a quiet after it
///   batches computing       some puts and a signal; then rank 0 computes and calls nothing
///   batches behind FILE     the same behind longer ones, behind a full window, and behind long
///                           messages; rank 1 tells in FILE what it has heard
///
/// Exit status 1 when something is not where it should be.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::uint64_t cells = 512;

struct place {
    selion::signal arrived;
    selion::signal heard;
    std::uint64_t handled;
    std::uint64_t sum;
    std::uint64_t values[cells];
};

using all_places = selion::global_ptr<place>;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

auto cell_of(all_places target, std::uint64_t number) {
    return target.member(&place::values).reinterpret<std::uint64_t>() +
           static_cast<std::ptrdiff_t>(number % cells);
}

selion::arrival add(const all_places& target, selion::message_info) {
    place& own = *target.local();
    own.handled += 1;
    selion::notify(target.member(&place::heard), selion::signal_set(own.handled));
    return {};
}

void run_rows(selion::world& world, all_places places, std::uint64_t count) {
    const std::uint32_t next = (world.rank() + 1) % world.size();
    const all_places target = places.on(next);
    for (std::uint64_t i = 0; i < count; ++i) selion::put(cell_of(target, i), i);
    for (std::uint64_t i = 0; i < count; ++i) {
        selion::atomic_add(target.member(&place::sum), 2);
    }
    for (std::uint64_t i = 0; i < count; ++i) selion::send(next, add, target);
    world.barrier();
    const place& own = *places.local();
    for (std::uint64_t i = count - cells; i < count; ++i) {
        expect(own.values[i % cells] == i, "a put is lost, or one before it came later");
    }
    expect(own.sum == 2 * count, "an atomic is lost, or came twice");
    selion::wait_until(places.member(&place::heard), count);
    expect(own.handled == count, "a message came twice");
    std::vector<std::uint64_t> back(count);
    selion::transfers all;
    for (std::uint64_t i = 0; i < count; ++i) all.get(back[i], cell_of(target, i));
    all.sync();
    for (std::uint64_t i = 0; i < count; ++i) {
        expect(back[i] % cells == i % cells, "a get brought another cell");
    }
    world.barrier();
}

/// What a quiet has waited for is there, however many puts have gathered.
void run_ends(selion::world& world, all_places places, std::uint64_t count) {
    const all_places target = places.on((world.rank() + 1) % world.size());
    for (std::uint64_t length = 1; length <= count; ++length) {
        for (std::uint64_t i = 0; i < length; ++i) {
            selion::put(cell_of(target, i), length * count + i);
        }
        selion::quiet();
        const std::uint64_t last = length - 1;
        expect(selion::get(cell_of(target, last)) == length * count + last, "a quiet was early");
    }
    world.barrier();
}

void compute(std::chrono::milliseconds how_long) {
    const auto end = std::chrono::steady_clock::now() + how_long;
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// The other rank has heard and answered while rank 0 computes: in three of the turns, since others
/// may have its processor.
void run_computing(selion::world& world, all_places places) {
    const all_places target = places.on(1 - world.rank());
    const auto arrived = places.member(&place::arrived);
    std::uint64_t heard = 0;
    for (std::uint64_t turn = 1; heard < 3; ++turn) {
        world.barrier();
        if (world.rank() == 0) {
            for (std::uint64_t i = 0; i < 10; ++i) selion::put(cell_of(target, i), turn);
            selion::notify(target.member(&place::arrived), selion::signal_set(turn));
            compute(std::chrono::milliseconds(700));
            selion::progress();
            heard += selion::read_signal(arrived) == turn ? 1 : 0;
            expect(turn < 10, "nothing has left meanwhile");
        } else {
            selion::wait_until(arrived, turn);
            for (std::uint64_t i = 0; i < 10; ++i) {
                expect(places.local()->values[i] == turn, "a signal came before its data");
            }
            selion::notify(target.member(&place::arrived), selion::signal_set(turn));
        }
        heard = world.broadcast(heard, 0);
    }
    world.barrier();
}

/// What rank 1 tells past the network: one byte for each signal.
class notes {
public:
    explicit notes(const char* path) : path_(path) {}
    void add() const {
        std::FILE* const file = std::fopen(path_, "a");
        std::fputc('.', file);
        std::fclose(file);
    }
    /// Calls nothing of the library meanwhile.
    void await(std::uintmax_t count, const char* what) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        std::error_code none;
        while (std::filesystem::file_size(path_, none) < count || none) {
            expect(std::chrono::steady_clock::now() < end, what);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

private:
    const char* path_;
};

/// Send buffers are used up by longer puts, of which nobody reads that they have left.
void run_behind(selion::world& world, all_places places, const char* path) {
    const notes heard(path);
    const auto arrived = places.member(&place::arrived);
    const std::vector<std::uint64_t> data(200, 7);
    std::uint64_t turn = 0;
    for (std::uint64_t puts = 8; puts <= 20; ++puts) {
        ++turn;
        world.barrier();
        if (world.rank() == 0) {
            for (std::uint64_t i = 0; i < puts; ++i) {
                selion::put(cell_of(places.on(1), 0), std::span<const std::uint64_t>(data));
            }
            selion::rpc_oneway(1, [] {});
            selion::put(cell_of(places.on(1), 300), turn);
            selion::notify(arrived.on(1), selion::signal_set(turn));
            heard.await(turn, "a signal stayed behind while its rank computed");
        } else {
            selion::wait_until(arrived, turn);
            expect(places.local()->values[300] == turn, "a signal came before its data");
            heard.add();
        }
    }
}

/// The frame behind a long put finds the window full.
void run_behind_a_window(selion::world& world, all_places places, const char* path) {
    constexpr std::uint64_t window = 64;
    const notes heard(path);
    const auto bare = places.member(&place::heard);
    const auto arrived = places.member(&place::arrived);
    const auto room = selion::allocate<std::uint64_t>(world, 4000);
    const std::vector<std::uint64_t> data(4000, 7);
    for (std::uint64_t turn = 101; turn <= 103; ++turn) {
        world.barrier();
        if (world.rank() == 0) {
            for (std::uint64_t i = 0; i < window + turn % 2; ++i) {
                selion::notify(bare.on(1), selion::signal_add(1));
                selion::progress();
            }
            selion::put_signal(room.on(1), std::span<const std::uint64_t>(data), arrived.on(1),
                               selion::signal_set(turn));
            heard.await(turn - 88, "the signal of a long put stayed behind");
        } else {
            compute(std::chrono::milliseconds(50));
            selion::wait_until(arrived, turn);
            heard.add();
        }
    }
    world.barrier();
    selion::deallocate(world, room);
}

/// Rank 1 reads the data of long messages from rank 0, whose processor has other things to do.
void run_behind_messages(selion::world& world, all_places places, const char* path) {
    const notes heard(path);
    const auto arrived = places.member(&place::arrived);
    const std::vector<std::uint64_t> data(40'000, 7);
    std::uint64_t turn = 16;
    for (const std::size_t length : {5'000, 40'000, 6'000}) {
        ++turn;
        world.barrier();
        if (world.rank() == 0) {
            for (int i = 0; i < 3; ++i) {
                selion::rpc_oneway(
                    1,
                    [](all_places own, std::span<const std::uint64_t> came) {
                        for (const std::uint64_t each : came) own.local()->sum += each;
                    },
                    places.on(1), std::span(data).first(length));
            }
            selion::notify(arrived.on(1), selion::signal_set(1'000 + turn));
            heard.await(turn, "a long message stayed behind while its rank computed");
        } else {
            places.local()->sum = 0;
            selion::wait_until(arrived, 1'000 + turn);
            expect(places.local()->sum == 3 * 7 * length, "a signal came before a message");
            heard.add();
        }
    }
    world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [&](selion::world& world) {
        const std::string_view what = argc > 1 ? argv[1] : "";
        const std::uint64_t count =
            argc > 2 && what != "behind" ? std::strtoull(argv[2], nullptr, 10) : cells;
        const auto places = selion::allocate<place>(world, 1);
        if (what == "rows") run_rows(world, places, count);
        if (what == "ends") run_ends(world, places, count);
        if (what == "computing") run_computing(world, places);
        if (what == "behind") {
            run_behind(world, places, argv[2]);
            run_behind_a_window(world, places, argv[2]);
            run_behind_messages(world, places, argv[2]);
        }
        selion::deallocate(world, places);
    });
}
