// SPDX-License-Identifier: Apache-2.0
// The operations of bench/run_python in C++: each rank takes orders from a socket. An order is a
// line of text: an operation, bytes, and how often; the answer is the nanoseconds of one.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <selion/selion.hpp>

namespace {

class orders {
public:
    /// @param name of the socket, without the zero byte that begins it.
    explicit orders(const std::string& name) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        const auto length =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
            throw std::runtime_error("nobody listens at " + name);
        }
    }
    orders(const orders&) = delete;
    orders& operator=(const orders&) = delete;
    ~orders() { close(socket_); }

    void tell(const std::string& line) const {
        const std::string whole = line + "\n";
        if (write(socket_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
            throw std::runtime_error("whoever gives the orders is gone");
        }
    }
    /// The next line; empty at the end.
    std::string next() const {
        std::string line;
        char letter = 0;
        while (read(socket_, &letter, 1) == 1 && letter != '\n') line += letter;
        return line;
    }

private:
    int socket_;
};

using numbers = std::vector<double>;

std::function<void()> operation_of(selion::world& world, const std::string& name,
                                   selion::global_ptr<double> part, numbers& mine, numbers& all,
                                   numbers& sent) {
    const selion::rank_id other = (world.rank() + 1) % world.size();
    if (name == "put") return [=, &mine] { selion::put(part.on(other), mine[0]); };
    if (name == "get") return [=, &mine] { mine[0] = selion::get(part.on(other)); };
    if (name == "barrier") return [&] { world.barrier(); };
    if (name == "broadcast") {
        return [&, root = std::uint32_t{0}]() mutable {
            world.broadcast(std::span(mine), selion::team_rank(root));
            root = (root + 1) % world.size();
        };
    }
    if (name == "all_reduce") return [&] { world.all_reduce(std::span(mine), selion::plus); };
    if (name == "all_gather") {
        return [&] { world.all_gather(std::span<const double>(mine), std::span(all)); };
    }
    if (name == "exchange") {
        return [&] { world.exchange(std::span<const double>(sent), std::span(all)); };
    }
    throw std::runtime_error("there is no operation " + name);
}

void serve(selion::world& world, const std::string& address) {
    const orders given(address);
    const auto part = selion::allocate<double>(world, 1);
    given.tell("C++ " + std::to_string(world.rank()));
    for (std::string line = given.next(); !line.empty(); line = given.next()) {
        std::istringstream words(line);
        std::string name;
        std::size_t bytes = 0;
        std::uint64_t count = 0;
        words >> name >> bytes >> count;
        const std::size_t elements = bytes / sizeof(double);
        numbers mine(elements), all(elements * world.size()), sent(elements * world.size());
        const auto operation = operation_of(world, name, part, mine, all, sent);
        const bool is_one_sided = name == "put" || name == "get";
        if (is_one_sided && world.rank() != 0) count = 0;
        world.barrier();
        const std::int64_t start = world.now();
        for (std::uint64_t i = 0; i < count; ++i) operation();
        const double ns = static_cast<double>(world.now() - start);
        world.barrier();
        given.tell(std::to_string(count == 0 ? 0.0 : ns / static_cast<double>(count)));
    }
    selion::deallocate(world, part);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("bench_python ADDRESS: started by bench/run_python\n", stderr);
        return 2;
    }
    return selion::run(argc, argv, [argv](selion::world& world) { serve(world, argv[1]); });
}
