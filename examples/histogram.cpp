// SPDX-License-Identifier: Apache-2.0
//
// A histogram whose bins lie with all ranks. Any rank may have a value for any bin, so bins are
// counted up with atomics; and values are handed out by an atomic as well, a batch at a time to
// whoever asks, so that a slow rank holds nobody up.
#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"
#include "random_numbers.hpp"

namespace {

struct settings {
    std::uint64_t values = 100'000;
    std::size_t bins = 64;
    std::uint64_t batch = 500;
};

/// Which bin a value falls into. Values are the mean of three uniform numbers, so those in the
/// middle are many: there ranks meet.
std::size_t bin_of(std::uint64_t value, std::size_t bins) {
    const double sum = examples::random_unit(3 * value) + examples::random_unit(3 * value + 1) +
                       examples::random_unit(3 * value + 2);
    return std::min(static_cast<std::size_t>(sum / 3 * static_cast<double>(bins)), bins - 1);
}

/// What rank 0 says of the result. @return the exit status.
int report(const selion::world& world, const selion::spread_array<std::uint64_t, 1>& bins,
           const settings& chosen, std::uint64_t counted) {
    std::vector<std::uint64_t> counts(chosen.bins);
    bins.read({{0}, {chosen.bins}}, counts);
    std::vector<std::uint64_t> expected(chosen.bins);
    for (std::uint64_t value = 0; value < chosen.values; ++value) {
        ++expected[bin_of(value, chosen.bins)];
    }
    std::uint64_t total = 0;
    for (std::size_t bin = 0; bin < chosen.bins; ++bin) {
        total += counts[bin];
        if (counts[bin] == expected[bin]) continue;
        std::fprintf(
            stderr, "histogram: bin %zu has %" PRIu64 " values, counted sequentially %" PRIu64 "\n",
            bin, counts[bin], expected[bin]);
        return 1;
    }
    if (total != chosen.values || counted != chosen.values) {
        std::fprintf(stderr,
                     "histogram: %" PRIu64 " values were taken and %" PRIu64 " counted, of %" PRIu64
                     "\n",
                     counted, total, chosen.values);
        return 1;
    }
    const auto fullest = std::max_element(counts.begin(), counts.end());
    std::printf("%" PRIu64 " values in %zu bins on %u ranks; the fullest is bin %td with %" PRIu64
                "\n",
                total, chosen.bins, world.size(), fullest - counts.begin(), *fullest);
    std::printf("every bin equals the sequential count\n");
    return 0;
}

int count(selion::world& world, const settings& chosen) {
    // One bin for each rank in turn: the full ones in the middle lie with different ranks.
    const selion::spread_array<std::uint64_t, 1> bins(world, {chosen.bins}, selion::runs{1},
                                                      "bins");
    const auto next = selion::allocate<std::uint64_t>(world, 1).on(0);  // value nobody has taken

    std::uint64_t counted = 0;
    for (;;) {
        const std::uint64_t first = selion::fetch_add(next, chosen.batch);
        if (first >= chosen.values) break;
        const std::uint64_t end = std::min(first + chosen.batch, chosen.values);
        for (std::uint64_t value = first; value < end; ++value) {
            // Nobody wants to know the count before: where a bin is not mapped that saves the
            // answer.
            selion::atomic_add(bins.address(bin_of(value, chosen.bins)), 1);
        }
        selion::charge((selion::flops(6) + selion::int_ops(30)) * (end - first));
        counted += end - first;
    }
    const std::uint64_t taken = world.all_reduce(counted, selion::plus);
    world.barrier();  // completes what all have added

    int status = 0;
    if (world.rank() == 0) {
        status = examples::printed("histogram", report(world, bins, chosen, taken));
    }
    selion::deallocate(world, next.on(world.rank()));
    selion::deallocate(world, bins);
    return status;
}

constexpr const char* help = R"(histogram: all ranks count values into bins that lie with all ranks

  --values N   how many [100000]
  --bins N     [64]
  --batch N    values that a rank takes at a time [500]
  --help       print this

The counts are compared with those of a plain loop. SELION_MACHINE chooses where it runs. Exit
status: 0, 1 if a bin is wrong, 2 for an argument or an output that
cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    examples::command_line line("histogram", help);
    line.number<std::uint64_t>("--values", chosen.values, 1, 10'000'000'000);
    line.number<std::size_t>("--bins", chosen.bins, 1, 1'000'000);
    line.number<std::uint64_t>("--batch", chosen.batch, 1, 1'000'000'000);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return count(world, chosen); });
}
