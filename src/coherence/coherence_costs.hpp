// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/machine.hpp"
#include "selion/charge.hpp"

namespace selion::coherence {

/// What the protocol takes of a processor in virtual time: the table `coherence` of a machine file.
/// A machine that says nothing takes a few operations for an access.
class coherence_costs {
public:
    explicit coherence_costs(const machine::machine& host)
        : untouched_(host.cost("coherence.untouched_hit")),
          read_hit_(host.cost("coherence.read_hit")),
          write_hit_(host.cost("coherence.write_hit")),
          serve_(host.cost("coherence.serve")),
          create_entry_(host.cost("coherence.create_entry")),
          block_message_(host.cost("coherence.block_message")),
          moved_(host.cost("coherence.moved")) {}

    work untouched_hit() const { return of(untouched_, int_ops(few) + loads(2)); }
    work read_hit() const { return of(read_hit_, int_ops(few) + loads(3)); }
    work write_hit() const { return of(write_hit_, int_ops(few) + loads(2) + stores(1)); }
    /// Of a message of the protocol, at whoever takes it in, with the messages that follow.
    work serve() const { return of(serve_, int_ops(2 * few)); }
    work create_entry() const { return of(create_entry_, int_ops(2 * few)); }
    /// Of a message with a block: half of it at who sends it, half at who takes it in.
    work moved(std::size_t bytes) const {
        if (!moved_.is_given) return copied(bytes);
        const double bytes_ps = moved_.picoseconds_per_byte * static_cast<double>(bytes);
        return {.picoseconds =
                    (block_message_.picoseconds + static_cast<std::int64_t>(bytes_ps)) / 2};
    }

private:
    static constexpr std::uint64_t few = 5;
    static work of(const machine::named_cost& cost, const work& otherwise) {
        if (!cost.is_given) return otherwise;
        return {.picoseconds = cost.picoseconds};
    }

    machine::named_cost untouched_;
    machine::named_cost read_hit_;
    machine::named_cost write_hit_;
    machine::named_cost serve_;
    machine::named_cost create_entry_;
    machine::named_cost block_message_;
    machine::named_cost moved_;
};

}  // namespace selion::coherence
