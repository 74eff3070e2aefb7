// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/simulation.hpp"

/// Credits: so many operations of one rank on another's memory may be under way, from the moment in
/// which the first message leaves until the origin knows that it is done (where puts are not
/// acknowledged, until they have taken effect). Answers travel on the credit of their request. What
/// needs no network takes none, and what handlers send neither, unless something waits before it.
namespace selion::machine::sim {

/// @return whether the rank has a credit now; else the message waits for one, and the call need
/// not.
bool simulation::obtain_credit(rank_state& origin, transfer& what) {
    if (origin.credits == nullptr) origin.credits = std::make_unique<credit_book>();
    while (!origin.credits->take(what.to, model_.reception.credits)) {
        if (model_.reception.queues_without_credit) {
            origin.credits->enqueue(what);
            return false;
        }
        origin.creditor = what.to;
        stand_still(origin, standstill::credit);
        engine_.catch_up();
    }
    what.has_credit = true;
    return true;
}

/// What leaves by an event needs no credit, but must not pass what its rank has sent before to the
/// same target and what waits for one. @return whether it waits, too.
bool simulation::queues_behind_others(rank_state& origin, transfer& what) {
    if (origin.credits == nullptr || !origin.credits->has_queue(what.to)) return false;
    origin.credits->enqueue(what);
    return true;
}

void simulation::return_credit(rank_state& origin, std::uint32_t target) {
    if (message* const next = origin.credits->give_back(target)) {
        transfer& leaving = static_cast<transfer&>(*next);
        leaving.has_credit = true;
        departs(leaving);
        return network_->inject_from_event(engine_, leaving);
    }
    const bool waits = origin.why == standstill::credit && origin.creditor == target;
    if (waits && !engine::is_armed(*origin.self)) engine_.resume_at(*origin.self, engine_.now());
}

}  // namespace selion::machine::sim
