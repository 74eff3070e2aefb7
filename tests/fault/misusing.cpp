// SPDX-License-Identifier: Apache-2.0
// misusing WHAT: rank 1 makes one mistake, or all ranks together where the call is collective.
// misusing build: prints what this build checks.

#include <selion/selion.hpp>

#include "misusing_collectives.hpp"
#include "misusing_copies.hpp"
#include "misusing_waits.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// A completion handler that may wait, of a message of the rank to itself.
template <class Body>
void complete(selion::world& world, Body body) {
    selion::counter done;
    selion::send(world.rank(),
                 [](const Body& came, selion::message_info) {
                     return selion::arrival{
                         .completion = [](void* kept) { (*static_cast<Body*>(kept))(); },
                         .argument = new Body(came),
                         .may_wait = true};
                 },
                 body, {}, {.completion = &done});
    done.wait(1);
}

void mistake_in_completion(selion::world& world, std::string_view what) {
    if (what == "completion_barrier") {
        complete(world, [all = &world] { all->barrier(); });  // site: completion_barrier
    }
    if (what == "completion_reduce") {
        complete(world, [all = &world] {
            static_cast<void>(all->all_reduce(1, selion::plus));  // site: completion_reduce
        });
    }
    if (what == "completion_allocate") {
        complete(world, [all = &world] {
            static_cast<void>(selion::allocate<int>(*all, 1));  // site: completion_allocate
        });
    }
    if (what == "completion_throws") {
        complete(world, [] { throw std::runtime_error("no room"); });
    }
}

constexpr auto shrug = [](const int&, selion::message_info) { return selion::arrival{}; };

/// Places that are just beyond what there is, or of two ranks where one is meant.
void mistake_with_places(selion::world& world, selion::global_ptr<int> number,
                         selion::global_ptr<selion::signal> signal, std::string_view what) {
    const selion::rank_id next = world.size();
    const int one = 1;
    if (what == "rank_next") selion::put(number.on(next), 1);  // site: rank_next
    if (what == "send_next") selion::send(next, shrug, 1);     // site: send_next
    if (what == "quiet_next") selion::quiet(next);             // site: quiet_next
    if (what == "send_counter") {
        const selion::global_ptr<selion::counter> far(2, number.offset());
        selion::send(0, shrug, 1, {}, {.target = far});  // site: send_counter
    }
    if (what == "two_ranks") {
        const auto one_more = selion::signal_add(1);
        selion::put_signal(number.on(0), 1, signal.on(2), one_more);  // site: two_ranks
    }
    if (what == "two_ranks_row") {
        const auto one_more = selion::signal_add(1);
        const std::span<const int> row(&one, 1);
        selion::put_signal(number.on(0), row, signal.on(2), one_more);  // site: two_ranks_row
    }
    if (what == "pieces") {
        const std::vector<selion::put_piece<int>> list{{number.on(0), {&one, 1}},
                                                       {number.on(2), {&one, 1}}};
        selion::put_vector(std::span(list));  // site: pieces
    }
    selion::dma_descriptor<int> rows{number.on(0), &one, 1, 3};
    if (what == "dma_before") {
        rows.target_stride = -(std::ptrdiff_t{1} << 37);
        selion::start_dma(rows);  // site: dma_before
    }
    if (what == "dma_beyond") {
        rows.target_stride = std::ptrdiff_t{1} << 37;
        selion::start_dma(rows);  // site: dma_beyond
    }
    if (what == "dma_nothing") {
        rows.source = nullptr;
        selion::start_dma(rows);  // site: dma_nothing
    }
}

void mistake_with_messages(selion::global_ptr<int> number, std::string_view what) {
    const auto nothing = [] {};
    if (what == "send") selion::send(99, shrug, 1);      // site: send
    if (what == "rpc") selion::rpc(99, nothing).wait();  // site: rpc
    if (what == "quiet") selion::quiet(99);              // site: quiet
    if (what == "target_counter") {
        const selion::global_ptr<selion::counter> far(2, number.offset());
        selion::put(number.on(0), 1, {.target = far});  // site: target_counter
    }
    if (what == "taken_future") {
        selion::future<int> answer = selion::rpc(0, [] { return 1; });
        static_cast<void>(answer.get());
        static_cast<void>(answer.get());  // site: taken_future
    }
    if (what == "empty_future") {
        selion::future<int> none;
        static_cast<void>(
            std::move(none).then([](int value) { return value; }));  // site: empty_future
    }
    if (what == "empty_inner") {
        auto outer = selion::make_ready(1).then(  // site: empty_inner
            [](int) { return selion::future<int>(); });
        outer.wait();
    }
    if (what == "empty_part") {
        selion::when_all(selion::make_ready(1), selion::future<int>()).wait();
    }
    if (what == "long_result") {
        struct pages {
            std::byte bytes[48 << 10];  // too many for a SELION_MESSAGE_MEMORY of 64K
        };
        selion::rpc(0, [] { return pages(); }).wait();
    }
    const auto fail = [] { throw std::runtime_error("no room"); };
    if (what == "throws") {
        const auto handler = [](const decltype(fail)& came, selion::message_info) {
            came();
            return selion::arrival{};
        };
        selion::send(0, handler, fail);
    }
    if (what == "oneway") selion::rpc_oneway(0, fail);
    if (what == "oneway_later") {
        selion::rpc_oneway(0, [] {
            return selion::make_ready(1).then([](int) { throw std::runtime_error("no room"); });
        });
    }
    if (what == "unknown") {
        selion::detail::send_message({.target = 0, .function = 0x77770000000012, .arguments = {}},
                                     {});
    }
}

/// Rank 0 returns at once, and does not take part in what others do.
void leave_others(selion::world& world) {
    if (world.rank() == 0) return;
    static_cast<void>(world.gather(1, 0));
    selion::counter never;
    static_cast<void>(never.wait(1, std::chrono::milliseconds(1)));  // what it has sent arrives
}

/// An operation throws at one rank alone, which does not care.
void throw_in_operation(selion::world& world, std::string_view what) {
    const selion::rank_id thrower = what == "scan_operation" ? world.size() - 1 : 0;
    const auto add = [throws = world.rank() == thrower](long left, long right) {
        if (throws) throw std::runtime_error("no sum");
        return left + right;
    };
    const auto gives_up = [](auto collective) {
        try {
            collective();
        } catch (const std::runtime_error&) {
        }
    };
    std::vector<long> many(100'000, 1);
    for (int i = 0; i < 10; ++i) {
        if (what == "operation") {
            gives_up([&] { static_cast<void>(world.all_reduce(1L, add)); });
        }
        if (what == "long_operation") gives_up([&] { world.all_reduce(std::span(many), add); });
        if (what == "scan_operation") gives_up([&] { world.scan(std::span(many), add); });
        if (what == "started_operation") {
            gives_up([&] { static_cast<void>(world.split_phase().all_reduce(1L, add).get()); });
        }
    }
    world.barrier();
}

/// A collective of all ranks fails, and nobody minds: rank 0 comes when rank 1 has given up.
void fail_together(selion::world& world) {
    const auto given_up = selion::allocate<selion::signal>(world, 1);
    try {
        if (world.rank() == 0) selion::wait_until(given_up, 1);
        static_cast<void>(
            world.with_timeout(std::chrono::milliseconds(10)).all_reduce(1, selion::plus));
    } catch (const selion::error&) {
        if (world.rank() == 1) selion::notify(given_up.on(0), selion::signal_set(1));
    }
}

void mistake_with_counters(std::string_view what) {
    selion::counter counter;
    const std::uint64_t less = 0;
    if (what == "wait_negative") counter.wait(less - 1);         // site: wait_negative
    if (what == "store_negative") selion::store_sync(less - 1);  // site: store_negative
    if (what == "test_negative") {
        static_cast<void>(counter.test(less - 1));  // site: test_negative
    }
    selion::counter* const list[] = {&counter, nullptr};
    if (what == "any_null") selion::wait_any(list);  // site: any_null
    if (what == "all_null") selion::wait_all(list);  // site: all_null
    if (what == "any_signal") {
        selion::wait_any(std::span<const selion::awaited_signal>());  // site: any_signal
    }
}

void mistake_with_directory(selion::world& world, std::string_view what) {
    if (what != "slot") return;
    const selion::address_directory<int> directory(world, 2);
    if (world.rank() == 1) {
        static_cast<void>(directory.look_up(0, 2));  // site: slot
    }
}

/// A counter that lives longer than the job in which it counted.
int use_counter_in_two_jobs(int argc, char** argv, std::string_view what) {
    selion::counter counter;
    int status = 0;
    for (int job = 0; job < 2 && status == 0; ++job) {
        status = selion::run(argc, argv, [&](selion::world& world) {
            const auto number = selion::allocate<int>(world, 1);
            if (world.rank() == 1 && (job == 0 || what == "stale")) {
                selion::put(number.on(0), 1, counter);  // site: stale
            }
            if (world.rank() == 1 && job == 1) {
                if (what == "stale_wait") counter.wait(1);  // site: stale_wait
                if (what == "stale_test") {
                    static_cast<void>(counter.test(1));  // site: stale_test
                }
            }
            world.barrier();
        });
    }
    return status;
}

void mistake_alone(selion::world& world, std::string_view what) {
    const auto number = selion::allocate<int>(world, 4);
    const auto signal = selion::allocate<selion::signal>(world, 1);
    if (world.rank() == 1) {
        if (what == "rank") selion::put(number.on(99), 1);                   // site: rank
        if (what == "get") std::printf("%d\n", selion::get(number.on(99)));  // site: get
        if (what == "null") selion::put(selion::global_ptr<int>(), 1);       // site: null
        if (what == "null_index")
            selion::put(selion::global_ptr<int>() + 3, 1);                       // site: null_index
        if (what == "null_on") selion::put(selion::global_ptr<int>().on(2), 1);  // site: null_on
        if (what == "null_before")
            selion::put(selion::global_ptr<int>() - 1, 1);  // site: null_before
        if (what == "offset") {
            const selion::global_ptr<int> far(world.rank(), world.heap().reserved_bytes);
            selion::put(far, 1);  // site: offset
        }
        if (what == "unaligned") {
            const selion::global_ptr<int> odd(world.rank(), number.offset() + 2);
            selion::fetch_add(odd, 1);  // site: unaligned
        }
        if (what == "signal") selion::wait_until(signal.on(0), 1);        // site: signal
        if (what == "signal_there") selion::wait_until(signal.on(0), 0);  // site: signal_there
        if (what == "read_foreign")
            static_cast<void>(selion::read_signal(signal.on(0)));       // site: read_foreign
        if (what == "member") static_cast<void>(world.world_rank(99));  // site: member
        if (what == "charge") selion::charge({.picoseconds = INT64_MAX});
        const auto waits_days = [&](int days) {
            static_cast<void>(selion::wait_until(signal, 1, std::chrono::hours(24) * days));
        };
        if (what == "20_days") waits_days(20);
        if (what == "120_days") waits_days(120);
        if (what == "negative_charge") selion::charge(selion::nanoseconds(-5));
        if (what == "nested") selion::run(0, nullptr, [](selion::world&) {});  // site: nested
        if (what == "foreign") {
            std::thread([&] { selion::put(number, 1); }).join();  // site: foreign
        }
        if (what == "foreign_collective") {
            std::thread([&] { world.barrier(); }).join();  // site: foreign_collective
        }
        if (what == "scope") {
            std::thread([&] { const selion::rank_scope scope(world); }).join();  // site: scope
        }
        mistake_with_places(world, number, signal, what);
        mistake_with_messages(number, what);
        mistake_in_handler(world, number, what);
        mistake_with_counters(what);
        mistake_in_completion(world, what);
        if (what == "local") {
            const auto own = selion::allocate_local<int>(world, 1);
            selion::deallocate_local(world, own.on(0));  // site: local
        }
        if (what == "local_twice") {
            const auto own = selion::allocate_local<int>(world, 1);
            selion::deallocate_local(world, own);
            selion::deallocate_local(world, own);  // site: local_twice
        }
    }
    world.barrier();
}

void mistake_together(selion::world& world, std::string_view what) {
    const bool is_odd = world.rank() == 1;
    if (what == "root") static_cast<void>(world.broadcast(1, 99));  // site: root
    if (what == "twice") {
        const auto numbers = selion::allocate<int>(world, 4);
        selion::deallocate(world, numbers);
        selion::deallocate(world, numbers);  // site: twice
    }
    if (what == "sizes") {
        std::vector<double> values(is_odd ? 3 : 4);
        if (is_odd) {
            world.all_reduce(std::span(values), selion::plus);  // site: three
        } else {
            world.all_reduce(std::span(values), selion::plus);  // site: four
        }
    }
    if (what == "types") {
        if (is_odd) {
            static_cast<void>(world.all_reduce(1L, selion::plus));  // site: long
        } else {
            static_cast<void>(world.all_reduce(1.0, selion::plus));  // site: double
        }
    }
    if (what == "roots") static_cast<void>(world.broadcast(1, is_odd ? 1 : 0));  // site: roots
    if (what == "started" && is_odd) {
        static_cast<void>(
            world.split_phase().all_reduce(1.5f, selion::plus).get());  // site: floats
    } else if (what == "started") {
        static_cast<void>(
            world.split_phase().all_reduce(1.5, selion::plus).get());  // site: doubles
    }
    if (what == "started_roots") {
        const std::uint32_t root = is_odd ? 1 : 0;
        static_cast<void>(world.split_phase().broadcast(7, root).get());  // site: started_roots
    }
    if (what == "started_receivers") {
        const std::uint32_t root = is_odd ? 0 : 1;
        static_cast<void>(world.split_phase().broadcast(7, root).get());  // site: started_receivers
    }
    if (what == "calls") {
        if (is_odd) {
            static_cast<void>(world.all_reduce(1, selion::plus));  // site: all_reduce
        } else {
            world.barrier();  // site: barrier
        }
    }
    if (what == "given_back") {
        const auto first = selion::allocate<int>(world, 16);
        const auto second = selion::allocate<int>(world, 32);
        selion::deallocate(world, is_odd ? first : second);
        static_cast<void>(selion::allocate<int>(world, 16));
    }
    if (what == "allocate_between") {
        world.arrive();
        static_cast<void>(selion::allocate<int>(world, 1));  // site: allocate_between
    }
    if (what == "amounts")
        static_cast<void>(selion::allocate<int>(world, is_odd ? 8 : 4));  // site: amounts
    if (what == "alignments")
        static_cast<void>(selion::allocate<int>(world, 8, is_odd ? 64 : 32));  // site: alignments
}

void mistake_about_arrays(selion::world& world, std::string_view what) {
    const bool is_odd = world.rank() == 1;
    const selion::spread_array<int, 2> numbers(world, {6, 10}, selion::tiles(2, 5), "numbers");
    const selion::spread_array<int, 2> others(world, {10, 6}, selion::tiles(2, 5), "others");
    if (what == "layouts") {
        const auto how = is_odd ? selion::tiles(8, 2) : selion::tiles(2, 8);
        const selion::spread_array<int, 2> odd(world, {16, 16}, how, "odd");  // site: layouts
    }
    if (what == "extents") selion::redistribute(world, numbers, others);  // site: extents
    if (is_odd) {
        std::vector<int> some(6);
        if (what == "index") numbers(3, 10) = 1;                            // site: index
        if (what == "negative") static_cast<void>(numbers.address(-1, 0));  // site: negative
        if (what == "box") numbers.read({{5, 0}, {2, 3}}, some);            // site: box
        if (what == "box_wraps") {
            const std::size_t huge = std::size_t{1} << 32;
            numbers.read({{0, 0}, {huge, huge}}, {});  // site: box_wraps
        }
        if (what == "box_memory") numbers.write({{0, 0}, {2, 2}}, some);  // site: box_memory
        if (what == "slice") {
            const auto part = selion::slice(numbers, 6, selion::every);  // site: slice
            static_cast<void>(part);
        }
        if (what == "slice_before") {
            const auto part = selion::slice(numbers, -1, selion::every);  // site: slice_before
            static_cast<void>(part);
        }
        if (what == "slice_back") {
            const std::ptrdiff_t by = -1;
            const selion::index_range back{5, 3, static_cast<std::size_t>(by)};
            const auto part = selion::slice(numbers, back, selion::every);  // site: slice_back
            static_cast<void>(part);
        }
        if (what == "slice_none") {
            const std::ptrdiff_t less = -2;
            const selion::index_range none{0, static_cast<std::size_t>(less)};
            const auto part = selion::slice(numbers, none, selion::every);  // site: slice_none
            static_cast<void>(part);
        }
        if (what == "slice_index") {
            const auto part = selion::slice(numbers, selion::index_range{0, 3, 2}, 1);
            part(3) = 1;  // site: slice_index
        }
    }
    world.barrier();
}

void mistake_about_meters(selion::world& world, std::string_view what) {
    const selion::address_directory<int> directory(world);
    if (world.rank() == 1) {
        selion::meter meter("piece");
        if (what == "idle_meter") meter.stop();                             // site: idle_meter
        if (what == "directory") static_cast<void>(directory.look_up(99));  // site: directory
        meter.start();
        if (what == "meter_twice") selion::meter_run again(meter);  // site: meter_twice
        if (what == "running_meter") meter.reset();                 // site: running_meter
        meter.stop();
    }
    world.barrier();
}

constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "build") {
        std::printf("%d %d\n", SELION_CHECK_LEVEL, is_sanitized() ? 1 : 0);
        return 0;
    }
    if (what.starts_with("stale")) return use_counter_in_two_jobs(argc, argv, what);
    if (what == "absent") return selion::run(argc, argv, leave_others);
    if (what == "broken_to_the_end") return selion::run(argc, argv, fail_together);
    if (what.ends_with("operation")) {
        return selion::run(argc, argv,
                           [&](selion::world& world) { throw_in_operation(world, what); });
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        mistake_alone(world, what);
        mistake_with_directory(world, what);
        mistake_with_copies(world, what);
        mistake_with_spaces(world, what);
        mistake_together(world, what);
        mistake_of_strangers(world, what);
        mistake_about_kinds(world, what);
        mistake_about_teams(world, what);
        if (what == "broken") return;  // member 0, whom the others' barrier lacks
        mistake_about_blocks(world, what);
        mistake_about_varying(world, what);
        mistake_about_types(world, what);
        mistake_about_arrays(world, what);
        mistake_about_meters(world, what);
    });
}
