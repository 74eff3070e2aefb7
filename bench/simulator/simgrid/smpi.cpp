// SPDX-License-Identifier: Apache-2.0
// SimGrid's MPI in the places of simulated ranks. The program makes hosts and ranks itself, as
// smpirun would, without its shell script and without copies of global variables.
#include <array>
#include <string>

#include <smpi/smpi.h>
#include <simgrid/s4u.hpp>

#include "measurement.hpp"
#include "modes.hpp"
#include "platform.hpp"

namespace {

namespace s4u = simgrid::s4u;

/// Runs `body(rank)` on all ranks between MPI_Init and MPI_Finalize.
template <class Body>
int on_all(const bench::request& what, Body body) {
    const auto ranks = static_cast<int>(what["ranks"]);
    const auto hosts = bench::make_hosts(what["hosts"]);
    SMPI_init();
    SMPI_app_instance_register("bench", nullptr, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto place = static_cast<std::size_t>(rank) % hosts.size();
        const s4u::ActorPtr made = s4u::Actor::init(std::to_string(rank), hosts[place]);
        made->set_property("instance_id", "bench");
        made->set_property("rank", std::to_string(rank));
        made->start([rank, &body] {
            MPI_Init(nullptr, nullptr);
            body(rank);
            MPI_Finalize();
        });
    }
    s4u::Engine::get_instance()->run();
    SMPI_finalize();
    return 0;
}

int ping_pong(const bench::request& what) {
    const std::uint64_t rounds = what["rounds"];
    return on_all(what, [rounds](int rank) {
        std::uint64_t word = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank > 1) return;
        const int other = 1 - rank;
        const bench::stopwatch watch;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (rank == 0) MPI_Send(&word, sizeof word, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, sizeof word, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1) MPI_Send(&word, sizeof word, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
        if (rank != 0) return;
        bench::row("ping-pong", "SMPI").add("rounds", rounds).add_times(watch, rounds).print();
    });
}

int barrier(const bench::request& what) {
    const std::uint64_t rounds = what["rounds"];
    return on_all(what, [&](int rank) {
        MPI_Barrier(MPI_COMM_WORLD);
        const bench::stopwatch watch;
        for (std::uint64_t round = 0; round < rounds; ++round) MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) return;
        bench::row("barrier", "SMPI")
            .add("ranks", what["ranks"])
            .add("rounds", rounds)
            .add_times(watch, rounds)
            .print();
    });
}

}  // namespace

int main(int argc, char** argv) {
    const s4u::Engine engine(&argc, argv);
    const std::array<bench::mode, 2> modes{{
        {"ping_pong", {{"ranks", 2, 2}, {"rounds", 100'000}, {"hosts", 2}}, ping_pong},
        {"barrier", {{"ranks", 10'000, 2}, {"rounds", 1}, {"hosts", 2}}, barrier},
    }};
    return bench::run_mode(argc, argv, modes);
}
