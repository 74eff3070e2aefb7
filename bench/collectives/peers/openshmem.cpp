// SPDX-License-Identifier: Apache-2.0
// The collectives of an OpenSHMEM library, over all its ranks.
#include <shmem.h>

#include <algorithm>
#include <array>

#include "operations.hpp"

namespace {

/// Words of a collective's own in symmetric memory, free for the next one.
long* synchronisation_words(std::size_t count) {
    long* const words = static_cast<long*>(shmem_malloc(count * sizeof(long)));
    std::fill(words, words + count, static_cast<long>(SHMEM_SYNC_VALUE));
    return words;
}

/// Takes turns between a few sets of such words: somebody may still use those of the last call.
class word_sets {
public:
    word_sets(std::size_t sets, std::size_t words)
        : sets_(sets), words_(words), first_(synchronisation_words(sets * words)) {}

    long* next() {
        turn_ = turn_ + 1 == sets_ ? 0 : turn_ + 1;
        return first_ + turn_ * words_;
    }

private:
    std::size_t sets_;
    std::size_t words_;
    std::size_t turn_ = 0;
    long* first_;
};

class contestant {
public:
    contestant()
        : rank_(shmem_my_pe()),
          size_(shmem_n_pes()),
          // A broadcast makes nobody wait for all: twice as many sets as there are roots in turn.
          of_broadcast_(2 * size(), SHMEM_BCAST_SYNC_SIZE),
          of_reduction_(2, SHMEM_REDUCE_SYNC_SIZE),
          of_exchange_(2, SHMEM_ALLTOALL_SYNC_SIZE),
          of_gathering_(2, SHMEM_COLLECT_SYNC_SIZE),
          longest_(static_cast<long*>(shmem_malloc(sizeof(long)))) {
        for (double*& each : scratch_) each = memory(scratch_words);
        for (long*& each : whole_scratch_) {
            each = static_cast<long*>(shmem_malloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(long)));
        }
        shmem_barrier_all();
    }

    const char* name() const { return "OpenSHMEM"; }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(rank_); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
    std::size_t least_bytes() const { return 0; }
    std::size_t most_bytes() const { return most_count * sizeof(double); }

    double* memory(std::size_t count) {
        return static_cast<double*>(shmem_align(4096, count * sizeof(double)));
    }
    std::int64_t maximum(std::int64_t ns) {
        *longest_ = ns;
        shmem_long_max_to_all(longest_, longest_, 1, 0, 0, size_, next(whole_scratch_),
                              of_reduction_.next());
        return *longest_;
    }
    void barrier() { shmem_barrier_all(); }
    void broadcast(double* data, std::size_t count, std::uint32_t root) {
        shmem_broadcast64(data, data, count, static_cast<int>(root), 0, 0, size_,
                          of_broadcast_.next());
    }
    void all_reduce(double* data, std::size_t count) {
        shmem_double_sum_to_all(data, data, static_cast<int>(count), 0, 0, size_, next(scratch_),
                                of_reduction_.next());
    }
    void exchange(const double* to_each, double* from_each) {
        shmem_alltoall64(from_each, to_each, 1, 0, 0, size_, of_exchange_.next());
    }
    void all_gather(const double* own, double* all) {
        shmem_fcollect64(all, own, 1, 0, 0, size_, of_gathering_.next());
    }

private:
    static constexpr std::size_t most_count = (std::size_t{1} << 20) / sizeof(double);
    static constexpr std::size_t scratch_words =
        std::max<std::size_t>(most_count / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE);

    template <class Words>
    Words* next(std::array<Words*, 2>& two) {
        std::swap(two[0], two[1]);
        return two[0];
    }

    int rank_;
    int size_;
    word_sets of_broadcast_;
    word_sets of_reduction_;
    word_sets of_exchange_;
    word_sets of_gathering_;
    std::array<double*, 2> scratch_{};
    std::array<long*, 2> whole_scratch_{};
    long* longest_;
};

}  // namespace

int main(int argc, char** argv) {
    shmem_init();
    const bench::settings how = bench::parse_settings(argc, argv, {});
    contestant who;
    bench::collectives::measurement all(who, how);
    bench::collectives::measure_operations(all);
    shmem_barrier_all();
    all.finish();
    shmem_finalize();
}
