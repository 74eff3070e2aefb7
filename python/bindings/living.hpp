// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/world.hpp>

namespace bindings {

/// Python may ask a world while this lives. Simulated ranks end in a process that goes on, and what
/// their programs have kept of a world refers to nothing then. @pre the GIL is held at both ends.
class living_world {
public:
    explicit living_world(const selion::world& all);
    ~living_world();
    living_world(const living_world&) = delete;
    living_world& operator=(const living_world&) = delete;

private:
    const selion::world& all_;
};

}  // namespace bindings
