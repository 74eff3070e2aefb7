// SPDX-License-Identifier: Apache-2.0
// What ranks on a network pay for operations: Selion's part. bench/run_network starts it, and MPI's
// beside it.
#include <selion/selion.hpp>

#include <span>
#include <vector>

#include "network/operations.hpp"

namespace {

class contestant {
public:
    explicit contestant(selion::world& world)
        : world_(world),
          cells_(selion::allocate<std::byte>(world, bench::network::long_bytes)),
          number_(selion::allocate<std::uint64_t>(world, 1)),
          called_(selion::allocate<std::uint64_t>(world, 1)),
          called_long_(selion::allocate<std::uint64_t>(world, 1)),
          arrived_(selion::allocate<selion::signal>(world, 1)),
          messages_(selion::allocate<selion::signal>(world, 1)),
          own_(bench::network::long_bytes * bench::network::long_row) {}
    ~contestant() {
        selion::deallocate(world_, messages_);
        selion::deallocate(world_, arrived_);
        selion::deallocate(world_, called_long_);
        selion::deallocate(world_, called_);
        selion::deallocate(world_, number_);
        selion::deallocate(world_, cells_);
    }
    contestant(const contestant&) = delete;
    contestant& operator=(const contestant&) = delete;

    std::uint32_t rank() const { return world_.rank(); }
    void barrier() { world_.barrier(); }
    void all_reduce() { sum_ = world_.all_reduce(std::uint64_t{rank()}, selion::plus); }
    void ping_pong() {
        const std::uint32_t other = 1 - rank();
        ++turn_;
        if (rank() == 1) selion::wait_until(arrived_, turn_);
        selion::put_signal(number_.on(other), turn_, arrived_.on(other), selion::signal_set(turn_));
        if (rank() == 0) selion::wait_until(arrived_, turn_);
    }
    void call() {
        ++calls_;
        if (rank() == 0) {
            sum_ = selion::rpc(1, add_one, called_.on(1)).get();
        } else {
            while (*called_.local() < calls_) selion::progress();
        }
    }
    void long_message() {
        ++long_calls_;
        if (rank() == 0) {
            const std::span<const std::byte> data(own_.data(), bench::network::long_bytes);
            sum_ = selion::rpc(1, take_long, called_long_.on(1), data).get();
        } else {
            while (*called_long_.local() < long_calls_) selion::progress();
        }
    }
    void broadcast(std::size_t bytes, int root) {
        world_.broadcast(std::span(own_.data(), bytes), static_cast<std::uint32_t>(root));
    }
    void reduce(std::size_t bytes, int root) {
        world_.reduce(std::span(numbers_).first(bytes / sizeof(double)), selion::plus,
                      static_cast<std::uint32_t>(root));
    }
    void all_reduce(std::size_t bytes) {
        world_.all_reduce(std::span(numbers_).first(bytes / sizeof(double)), selion::plus);
    }
    void all_gather(std::size_t bytes) {
        world_.all_gather(std::span<const std::byte>(own_.data(), bytes),
                          std::span(exchanged_).first(2 * bytes));
    }
    void exchange(std::size_t bytes) {
        world_.exchange(std::span<const std::byte>(own_.data(), 2 * bytes),
                        std::span(exchanged_).first(2 * bytes));
    }
    void put(std::size_t bytes) {
        selion::put(cells_.on(1), std::span<const std::byte>(own_.data(), bytes));
        selion::quiet();
    }
    void get(std::size_t bytes) { selion::get(std::span(own_.data(), bytes), cells_.on(1)); }
    void fetch_add() { selion::fetch_add(number_.on(1), std::uint64_t{1}); }
    void put_row(std::size_t bytes, int count) {
        for (int i = 0; i < count; ++i) {
            selion::put(cells_.on(1), std::span<const std::byte>(own_.data(), bytes));
        }
        selion::quiet();
    }
    void get_row(std::size_t bytes, int count) {
        selion::transfers all;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            all.get(std::span(own_.data() + i * bytes, bytes), cells_.on(1));
        }
        all.sync();
    }
    void message_row(int count) {
        // The target tells once it has handled all.
        handled_ += static_cast<std::uint64_t>(count);
        ++turn_;
        if (rank() == 0) {
            for (int i = 0; i < count; ++i) selion::send(1, raise, messages_.on(1));
            selion::wait_until(arrived_, turn_);
        } else {
            selion::wait_until(messages_, handled_);
            selion::notify(arrived_.on(0), selion::signal_set(turn_));
        }
    }

private:
    static std::uint64_t take_long(selion::global_ptr<std::uint64_t> calls,
                                   std::span<const std::byte> data) {
        ++*calls.local();
        return data.size();
    }
    static std::uint64_t add_one(selion::global_ptr<std::uint64_t> number) {
        return ++*number.local();
    }
    static selion::arrival raise(const selion::global_ptr<selion::signal>& word,
                                 selion::message_info) {
        selion::notify(word, selion::signal_add(1));
        return {};
    }

    selion::world& world_;
    selion::global_ptr<std::byte> cells_;
    selion::global_ptr<std::uint64_t> number_;
    selion::global_ptr<std::uint64_t> called_;
    selion::global_ptr<std::uint64_t> called_long_;
    selion::global_ptr<selion::signal> arrived_;
    selion::global_ptr<selion::signal> messages_;
    std::vector<std::byte> own_;
    std::vector<std::byte> exchanged_ = std::vector<std::byte>(2 * bench::network::long_bytes);
    std::vector<double> numbers_ = std::vector<double>(bench::network::long_bytes / sizeof(double));
    std::uint64_t long_calls_ = 0;
    std::uint64_t turn_ = 0;
    std::uint64_t handled_ = 0;  ///< messages
    std::uint64_t calls_ = 0;
    std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [&](selion::world& world) {
        contestant own(world);
        bench::network::measure(own, static_cast<int>(world.size()), argc, argv);
    });
}
