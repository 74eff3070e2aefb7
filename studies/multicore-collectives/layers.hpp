// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "calls.hpp"
#include "measuring.hpp"

namespace multicore {

/// A collective of all ranks in two layers: threads of a process by a flat tree in shared memory,
/// and one thread of each process with those of the others by messages.
class layered_call {
public:
    /// Collective. The memory lives as long as the job.
    layered_call(const selion::world& world, const subject& what);

    void run() const;
    /// Collective: ends the job if the result is wrong. Afterwards all values are 0.
    void expect_right_result() const;

    std::uint32_t threads() const { return process_.size(); }
    std::uint32_t processes() const { return peers_.size(); }

private:
    void choose() const;
    bool leads() const { return process_.rank() == 0; }
    void run_exchange() const;
    std::span<double> block(std::span<double> all, std::uint32_t number) const;

    const selion::world& world_;
    selion::team process_;
    selion::team peers_;  ///< the rank of each process with this rank's number in it
    subject what_;
    std::span<double> own_;       ///< of an exchange: a block for each rank
    std::span<double> others_;    ///< a block of each rank
    std::span<double> gathered_;  ///< at leaders: of all threads
    std::span<double> packed_;
};

/// Reads and checks the params of `threads-and-processes`. @error study::bad_argument
measurement read_layers(const nlohmann::ordered_json& params);

}  // namespace multicore
