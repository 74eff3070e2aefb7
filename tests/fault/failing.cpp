// SPDX-License-Identifier: Apache-2.0
// failing HOW HANDLER: rank 1 fails, and the program's error handler does something.

#include <unistd.h>
#include <selion/selion.hpp>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

selion::world* one_world = nullptr;  // of some rank of this process

/// One line on standard output, without a stream that others may hold.
void print(const std::string& line) {
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

void note(const selion::failure& why) {
    const std::string_view first = why.sentence.substr(0, why.sentence.find('\n'));
    const std::string rank = why.rank ? std::to_string(*why.rank) : "nobody";
    const std::string line = why.site ? std::to_string(why.site->line()) : "nowhere";
    print("handler: " + rank + ", " + line + ": " + std::string(first) + "\n");
}

void note_and_throw(const selion::failure& why) {
    note(why);
    throw std::runtime_error("the disk is full");
}

void note_and_misuse(const selion::failure& why) {
    note(why);
    if (one_world != nullptr) static_cast<void>(one_world->broadcast(1, 99));
}

void note_and_exit(const selion::failure& why) {
    note(why);
    std::exit(0);
}

void fail(selion::world& world, std::string_view how) {
    if (how == "misuse") selion::quiet(99);  // site: misuse
    if (how == "throw") throw std::runtime_error("no room");
    if (how == "exit") std::exit(3);
    if (how == "kill") raise(SIGKILL);
    if (how == "handler") {
        selion::rpc_oneway(world.rank(), [] { throw std::runtime_error("no room"); });
        selion::progress();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    const std::string_view handler = argc > 2 ? argv[2] : "";
    if (handler == "notes") selion::set_error_handler(note);
    if (handler == "throws") selion::set_error_handler(note_and_throw);
    if (handler == "misuses") selion::set_error_handler(note_and_misuse);
    if (handler == "exits") selion::set_error_handler(note_and_exit);
    if (handler == "gone" && selion::set_error_handler(note) == nullptr &&
        selion::set_error_handler(nullptr) != note) {
        return 1;
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        if (world.rank() == 1) {
            one_world = &world;
            fail(world, how);
        }
        if (how == "all") selion::quiet(99);
        if (how == "deadlock") {
            selion::counter never;
            never.wait(1);
        }
        world.barrier();
    });
}
