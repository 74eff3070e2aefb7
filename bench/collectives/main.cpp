// SPDX-License-Identifier: Apache-2.0
// Selion's collectives, measured as those of its peers are.
#include <cstdio>
#include <span>
#include <string_view>

#include <selion/selion.hpp>

#include "memory.hpp"
#include "operations.hpp"

namespace {

/// Where the data lie that the collectives are given.
enum class placement { own, symmetric };

class contestant {
public:
    contestant(selion::world& world, placement where) : world_(world), where_(where) {}

    const char* name() const { return where_ == placement::own ? "selion" : "selion, symmetric"; }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(world_.rank()); }
    std::uint32_t size() const { return world_.size(); }
    /// Where small data lie makes no difference.
    std::size_t least_bytes() const { return where_ == placement::own ? 0 : 4096; }
    std::size_t most_bytes() const { return std::size_t{1} << 30; }

    double* memory(std::size_t count) {
        if (where_ == placement::own) return memory_.take(count);
        return selion::allocate<double>(world_, count, 4096).local();
    }
    std::int64_t maximum(std::int64_t ns) { return world_.all_reduce(ns, selion::maximum); }
    void barrier() { world_.barrier(); }
    void broadcast(double* data, std::size_t count, std::uint32_t root) {
        world_.broadcast(std::span(data, count), root);
    }
    void all_reduce(double* data, std::size_t count) {
        world_.all_reduce(std::span(data, count), selion::plus);
    }
    void exchange(const double* to_each, double* from_each) {
        world_.exchange(std::span(to_each, size()), std::span(from_each, size()));
    }
    void all_gather(const double* own, double* all) {
        world_.all_gather(std::span(own, 1), std::span(all, size()));
    }

private:
    selion::world& world_;
    placement where_;
    bench::collectives::private_memory memory_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string_view named = argc > 1 ? argv[1] : "";
    if (named != "own" && named != "symmetric") {
        std::fprintf(stderr, "The first argument is '%s'; legal: own, symmetric (the memory)\n",
                     argc > 1 ? argv[1] : "");
        return 2;
    }
    const placement where = named == "own" ? placement::own : placement::symmetric;
    const bench::settings how = bench::parse_settings(argc - 1, argv + 1, {});
    return selion::run(argc, argv, {.machine = "threads:2"}, [&](selion::world& world) {
        contestant who(world, where);
        bench::collectives::measurement all(who, how);
        bench::collectives::measure_operations(all);
        all.finish();
    });
}
