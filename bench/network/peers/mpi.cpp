// SPDX-License-Identifier: Apache-2.0
// The same over MPI's messages and one-sided operations.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/operations.hpp"

namespace {

class contestant {
public:
    contestant() : own_(bench::network::long_bytes) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        void* memory = nullptr;
        MPI_Win_allocate(static_cast<MPI_Aint>(bench::network::long_bytes), 1, MPI_INFO_NULL,
                         MPI_COMM_WORLD, &memory, &window_);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    }
    ~contestant() {
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }
    contestant(const contestant&) = delete;
    contestant& operator=(const contestant&) = delete;

    int rank() const { return rank_; }
    void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
    void ping_pong() {
        std::uint64_t number = 0;
        const int other = 1 - rank_;
        if (rank_ == 0) MPI_Send(&number, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank_ == 1) MPI_Send(&number, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD);
    }
    void put(std::size_t bytes) {
        MPI_Put(own_.data(), static_cast<int>(bytes), MPI_BYTE, 1, 0, static_cast<int>(bytes),
                MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }
    void get(std::size_t bytes) {
        MPI_Get(own_.data(), static_cast<int>(bytes), MPI_BYTE, 1, 0, static_cast<int>(bytes),
                MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }
    void fetch_add() {
        const std::uint64_t one = 1;
        std::uint64_t before = 0;
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, 0, MPI_SUM, window_);
        MPI_Win_flush(1, window_);
    }

private:
    int rank_ = 0;
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte> own_;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        contestant own;
        bench::network::measure(own);
    }
    MPI_Finalize();
    return 0;
}
