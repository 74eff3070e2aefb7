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
#include <memory>
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
        if (name.size() >= sizeof address.sun_path) {
            throw std::runtime_error("an address has at most " +
                                     std::to_string(sizeof address.sun_path - 1) + " bytes");
        }
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

/// Who is the root, in turn.
class roots {
public:
    explicit roots(const selion::world& world) : members_(world.size()) {}
    selion::team_rank next() { return selion::team_rank(turn_++ % members_); }

private:
    std::uint32_t members_;
    std::uint32_t turn_ = 0;
};

/// What operations work on.
struct places {
    numbers mine, all, sent;
};

std::function<void()> one_sided_operation(selion::world& world, const std::string& name,
                                          selion::global_ptr<double> part, places& at) {
    const selion::global_ptr<double> there = part.on((world.rank() + 1) % world.size());
    if (name == "put") return [=, &at] { selion::put(there, at.mine[0]); };
    if (name == "get") return [=, &at] { at.mine[0] = selion::get(there); };
    if (name == "fetch_add") return [=] { selion::fetch_add(there, 1.0); };
    return {};
}

std::function<void()> rooted_collective(selion::world& world, const std::string& name, places& at) {
    const auto turns = std::make_shared<roots>(world);
    const std::span mine(at.mine);
    const std::span<const double> given(at.mine);
    const std::span<const double> sent(at.sent);
    if (name == "broadcast") return [=, &world] { world.broadcast(mine, turns->next()); };
    if (name == "reduce") {
        return [=, &world] { world.reduce(mine, selion::plus, turns->next()); };
    }
    if (name == "scatter") return [=, &world] { world.scatter(sent, mine, turns->next()); };
    const std::span all(at.all);
    if (name == "gather") return [=, &world] { world.gather(given, all, turns->next()); };
    return {};
}

std::function<void()> collective(selion::world& world, const std::string& name, places& at) {
    const std::span mine(at.mine);
    const std::span all(at.all);
    const std::span<const double> given(at.mine);
    const std::span<const double> sent(at.sent);
    if (name == "barrier") return [&world] { world.barrier(); };
    if (name == "all_reduce") return [=, &world] { world.all_reduce(mine, selion::plus); };
    if (name == "scan") return [=, &world] { world.scan(mine, selion::plus); };
    if (name == "exscan") return [=, &world] { world.exscan(mine, selion::plus, 0.0); };
    if (name == "all_gather") return [=, &world] { world.all_gather(given, all); };
    if (name == "exchange") return [=, &world] { world.exchange(sent, all); };
    return {};
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
        const std::size_t in_all = elements * world.size();
        places at{numbers(elements), numbers(in_all), numbers(in_all)};
        auto operation = one_sided_operation(world, name, part, at);
        if (operation && world.rank() != 0) count = 0;
        if (!operation) operation = rooted_collective(world, name, at);
        if (!operation) operation = collective(world, name, at);
        if (!operation) throw std::runtime_error("there is no operation " + name);
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
