// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coherence/coherent_part.hpp"

namespace selion::coherence {

/// Messages that come meanwhile are left for later, and those that are sent wait for each other.
template <class Body>
void coherent_part::at_once(const Body& body) {
    struct restore {
        coherent_part& part;
        ~restore() { part.is_handling_ = part.is_sending_ = false; }
    };
    const restore at_the_end{*this};
    catch_up();
    is_handling_ = is_sending_ = true;
    body();
    is_handling_ = false;
    empty_outbox();
}

}  // namespace selion::coherence
