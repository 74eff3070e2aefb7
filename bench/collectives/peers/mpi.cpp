// SPDX-License-Identifier: Apache-2.0
// The collectives of the MPI library whose compiler builds this.
#include <mpi.h>

#include "memory.hpp"
#include "operations.hpp"

namespace {

class contestant {
public:
    contestant() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }

    const char* name() const {
#ifdef OPEN_MPI
        return "Open MPI";
#else
        return "MPICH";
#endif
    }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(rank_); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
    std::size_t least_bytes() const { return 0; }
    std::size_t most_bytes() const { return std::size_t{1} << 30; }

    double* memory(std::size_t count) { return memory_.take(count); }
    std::int64_t maximum(std::int64_t ns) {
        MPI_Allreduce(MPI_IN_PLACE, &ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        return ns;
    }
    void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
    void broadcast(double* data, std::size_t count, std::uint32_t root) {
        MPI_Bcast(data, static_cast<int>(count), MPI_DOUBLE, static_cast<int>(root),
                  MPI_COMM_WORLD);
    }
    void all_reduce(double* data, std::size_t count) {
        MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    void exchange(const double* to_each, double* from_each) {
        MPI_Alltoall(to_each, 1, MPI_DOUBLE, from_each, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    void all_gather(const double* own, double* all) {
        MPI_Allgather(own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    }

private:
    int rank_ = 0;
    int size_ = 0;
    bench::collectives::private_memory memory_;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        const bench::settings how = bench::parse_settings(argc, argv, {});
        contestant who;
        bench::collectives::measurement all(who, how);
        bench::collectives::measure_operations(all);
        all.finish();
    }
    MPI_Finalize();
}
