// SPDX-License-Identifier: Apache-2.0
// Barrier and reduction of OpenMP threads.
#include <omp.h>

#include <array>

#include "memory.hpp"
#include "operations.hpp"

namespace {

/// What the threads share.
struct team_memory {
    std::array<double, 3> sums{};
    std::vector<std::int64_t> ns;
};

/// The sum of everybody's value. Three places take turns: one is added up, one may still be read,
/// and one is cleared for the next.
double sum(std::array<double, 3>& places, std::uint64_t turn, double value) {
    double& place = places[turn % 3];
    const int threads = omp_get_num_threads();
    if (omp_get_thread_num() == 0) places[(turn + 1) % 3] = 0;
#pragma omp for schedule(static) reduction(+ : place)
    for (int i = 0; i < threads; ++i) place += value;
    return place;
}

class contestant {
public:
    explicit contestant(team_memory& shared) : shared_(shared) {}

    const char* name() const { return "libgomp"; }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(omp_get_thread_num()); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(omp_get_num_threads()); }
    std::size_t least_bytes() const { return 0; }
    std::size_t most_bytes() const { return sizeof(double); }

    double* memory(std::size_t count) { return memory_.take(count); }
    std::int64_t maximum(std::int64_t ns) {
        shared_.ns[rank()] = ns;
        barrier();
        const std::int64_t longest = *std::max_element(shared_.ns.begin(), shared_.ns.end());
        barrier();
        return longest;
    }
    void barrier() {
#pragma omp barrier
    }
    void all_reduce(double* data, std::size_t) { *data = sum(shared_.sums, turn_++, *data); }

private:
    team_memory& shared_;
    std::uint64_t turn_ = 0;
    bench::collectives::private_memory memory_;
};

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse_settings(argc, argv, {});
    team_memory shared;
    shared.ns.resize(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
    {
        contestant who(shared);
        bench::collectives::measurement all(who, how);
        bench::collectives::measure_operations(all);
        all.finish();
    }
}
