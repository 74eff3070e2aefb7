// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <selion/selion.hpp>

/// A handler that the rank sends to itself.
template <class Body>
void handle(selion::world& world, Body body) {
    selion::counter done;
    selion::send(world.rank(),
                 [](const Body& came, selion::message_info) {
                     came();
                     return selion::arrival{};
                 },
                 body, {}, {.completion = &done});
    done.wait(1);
}

/// Waits where none may be.
inline void mistake_in_handler(selion::world& world, selion::global_ptr<int> number,
                               std::string_view what) {
    if (what == "wait") {
        handle(world, [] {
            selion::counter never;
            never.wait(1);  // site: wait
        });
    }
    if (what == "collective") {
        handle(world, [all = &world] { all->barrier(); });  // site: collective
    }
    if (what == "wait_in_then") {
        auto answer = selion::rpc(0, [] {}).then([] {
            selion::rpc(0, [] {}).wait();  // site: wait_in_then
        });
        answer.wait();
    }
    if (what == "get_in_handler") {
        handle(world, [number] {
            static_cast<void>(selion::get(number.on(0)));  // site: get_in_handler
        });
    }
    if (what == "fetch_in_handler") {
        handle(world, [number] {
            static_cast<void>(selion::fetch_add(number.on(0), 1));  // site: fetch_in_handler
        });
    }
}
