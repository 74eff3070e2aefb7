// SPDX-License-Identifier: Apache-2.0
// What two ranks on a network pay for operations: Selion's part. bench/run_network starts it, and
// MPI's beside it.
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
          arrived_(selion::allocate<selion::signal>(world, 1)),
          own_(bench::network::long_bytes) {}
    ~contestant() {
        selion::deallocate(world_, arrived_);
        selion::deallocate(world_, number_);
        selion::deallocate(world_, cells_);
    }
    contestant(const contestant&) = delete;
    contestant& operator=(const contestant&) = delete;

    std::uint32_t rank() const { return world_.rank(); }
    void barrier() { world_.barrier(); }
    void ping_pong() {
        const std::uint32_t other = 1 - rank();
        ++turn_;
        if (rank() == 1) selion::wait_until(arrived_, turn_);
        selion::put_signal(number_.on(other), turn_, arrived_.on(other), selion::signal_set(turn_));
        if (rank() == 0) selion::wait_until(arrived_, turn_);
    }
    void put(std::size_t bytes) {
        selion::put(cells_.on(1), std::span<const std::byte>(own_.data(), bytes));
        selion::quiet();
    }
    void get(std::size_t bytes) { selion::get(std::span(own_.data(), bytes), cells_.on(1)); }
    void fetch_add() { selion::fetch_add(number_.on(1), std::uint64_t{1}); }

private:
    selion::world& world_;
    selion::global_ptr<std::byte> cells_;
    selion::global_ptr<std::uint64_t> number_;
    selion::global_ptr<selion::signal> arrived_;
    std::vector<std::byte> own_;
    std::uint64_t turn_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        if (world.size() != 2) return;
        contestant own(world);
        bench::network::measure(own);
    });
}
