// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "machine/sim/simulation.hpp"
#include "machine/wait_report.hpp"

namespace selion::machine::sim {

/// A simulation as reports see it.
class observed_simulation final : public observed_job {
public:
    /// @param stands_still whether nothing can happen any more: then the caller may look at more.
    observed_simulation(const simulation& all, bool stands_still)
        : all_(all), stands_still_(stands_still), turn_(turn_of(all, stands_still)) {}

    std::uint32_t ranks() const override { return static_cast<std::uint32_t>(all_.ranks().size()); }
    const call_record& record(std::uint32_t rank) const override {
        return all_.ranks()[rank].record;
    }
    std::span<const std::byte> memory(std::uint32_t rank) const override {
        return {all_.segments().slice(rank), all_.segments().reserve_bytes()};
    }
    /// All that can be compared is, because it takes no virtual time.
    bool compares_calls() const override { return true; }
    std::optional<turn_of_rank> turn() const override { return turn_; }
    std::string more_of(std::uint32_t rank) const override;
    bool is_in_deadlock() const override { return stands_still_; }

private:
    static std::optional<turn_of_rank> turn_of(const simulation& all, bool stands_still);

    const simulation& all_;
    bool stands_still_;
    std::optional<turn_of_rank> turn_;  ///< looked at once, so that a report speaks of one moment
};

}  // namespace selion::machine::sim
