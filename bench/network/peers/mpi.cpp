// SPDX-License-Identifier: Apache-2.0
// The same over MPI's messages and one-sided operations.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/operations.hpp"

namespace {

class contestant {
public:
    contestant() : own_(bench::network::long_bytes * bench::network::long_row) {
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
    /// MPI has no calls. This is one as a program writes it: whoever calls names a function by its
    /// place in a table, and the answer goes back there.
    void call() {
        std::uint64_t sum = 0;
        if (rank_ == 0) {
            MPI_Request answered;
            MPI_Irecv(&sum, 1, MPI_UINT64_T, 1, answer_tag, MPI_COMM_WORLD, &answered);
            const written_call called{.function = 0, .argument = 0};
            MPI_Send(&called, sizeof called, MPI_BYTE, 1, call_tag, MPI_COMM_WORLD);
            MPI_Wait(&answered, MPI_STATUS_IGNORE);
        } else {
            written_call called{};
            MPI_Status about;
            MPI_Recv(&called, sizeof called, MPI_BYTE, MPI_ANY_SOURCE, call_tag, MPI_COMM_WORLD,
                     &about);
            sum = functions_[called.function](numbers_called_[called.argument]);
            MPI_Send(&sum, 1, MPI_UINT64_T, about.MPI_SOURCE, answer_tag, MPI_COMM_WORLD);
        }
    }
    void long_message() {
        const int length = static_cast<int>(bench::network::long_bytes);
        std::uint64_t number = 0;
        if (rank_ == 0) {
            MPI_Send(own_.data(), length, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
            MPI_Recv(&number, 1, MPI_UINT64_T, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(own_.data(), length, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&number, 1, MPI_UINT64_T, 0, 4, MPI_COMM_WORLD);
        }
    }
    void broadcast(std::size_t bytes, int root) {
        MPI_Bcast(own_.data(), static_cast<int>(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
    }
    void reduce(std::size_t bytes, int root) {
        MPI_Reduce(rank_ == root ? MPI_IN_PLACE : numbers_.data(), numbers_.data(),
                   numbers_of(bytes), MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    }
    void all_reduce(std::size_t bytes) {
        MPI_Allreduce(MPI_IN_PLACE, numbers_.data(), numbers_of(bytes), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    void all_gather(std::size_t bytes) {
        const int length = static_cast<int>(bytes);
        MPI_Allgather(own_.data(), length, MPI_BYTE, exchanged_.data(), length, MPI_BYTE,
                      MPI_COMM_WORLD);
    }
    void exchange(std::size_t bytes) {
        const int length = static_cast<int>(bytes);
        MPI_Alltoall(own_.data(), length, MPI_BYTE, exchanged_.data(), length, MPI_BYTE,
                     MPI_COMM_WORLD);
    }
    void put(std::size_t bytes) { put_row(bytes, 1); }
    void get(std::size_t bytes) { get_row(bytes, 1); }
    void put_row(std::size_t bytes, int count) {
        const int length = static_cast<int>(bytes);
        for (int i = 0; i < count; ++i) {
            MPI_Put(own_.data(), length, MPI_BYTE, 1, 0, length, MPI_BYTE, window_);
        }
        MPI_Win_flush(1, window_);
    }
    void get_row(std::size_t bytes, int count) {
        const int length = static_cast<int>(bytes);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            MPI_Get(own_.data() + i * bytes, length, MPI_BYTE, 1, 0, length, MPI_BYTE, window_);
        }
        MPI_Win_flush(1, window_);
    }
    /// In windows, as the usual benchmarks of message rates do it.
    void message_row(int count) {
        constexpr int window = 64;
        std::array<MPI_Request, window> requests;
        std::array<std::uint64_t, window> numbers{};
        for (int done = 0; done < count; done += window) {
            for (std::size_t i = 0; i < window; ++i) {
                if (rank_ == 0) {
                    MPI_Isend(&numbers[i], 1, MPI_UINT64_T, 1, 1, MPI_COMM_WORLD, &requests[i]);
                } else {
                    MPI_Irecv(&numbers[i], 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD, &requests[i]);
                }
            }
            MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
        }
        std::uint64_t end = 0;
        if (rank_ == 0) {
            MPI_Recv(&end, 1, MPI_UINT64_T, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&end, 1, MPI_UINT64_T, 0, 2, MPI_COMM_WORLD);
        }
    }
    void all_reduce() {
        std::uint64_t sum = 1;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    void fetch_add() {
        const std::uint64_t one = 1;
        std::uint64_t before = 0;
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, 0, MPI_SUM, window_);
        MPI_Win_flush(1, window_);
    }

private:
    struct written_call {
        std::uint64_t function;
        std::uint64_t argument;
    };
    static constexpr int call_tag = 5;
    static constexpr int answer_tag = 6;
    static std::uint64_t add_one(std::uint64_t& number) { return ++number; }

    std::array<std::uint64_t (*)(std::uint64_t&), 1> functions_{add_one};
    std::array<std::uint64_t, 1> numbers_called_{};
    int rank_ = 0;
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte> own_;
    std::vector<std::byte> exchanged_ = std::vector<std::byte>(2 * bench::network::long_bytes);
    static int numbers_of(std::size_t bytes) { return static_cast<int>(bytes / sizeof(double)); }

    std::vector<double> numbers_ = std::vector<double>(bench::network::long_bytes / sizeof(double));
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        contestant own;
        int ranks = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        bench::network::measure(own, ranks, argc, argv);
    }
    MPI_Finalize();
    return 0;
}
