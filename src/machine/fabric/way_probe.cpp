// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/way_probe.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

/// Connections that are taken before the thread looks at anything else.
constexpr int connections_at_once = 64;

}  // namespace

socket_place socket_place::without_port() const {
    socket_place any = *this;
    if (any.address.ss_family == AF_INET) {
        reinterpret_cast<sockaddr_in*>(&any.address)->sin_port = 0;
    } else {
        reinterpret_cast<sockaddr_in6*>(&any.address)->sin6_port = 0;
    }
    return any;
}

bool connection_listener::open(const socket_place& where) {
    const int made = socket(where.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made >= 0 && bind(made, where.get(), where.bytes) == 0 && listen(made, SOMAXCONN) == 0) {
        file_ = made;
        return true;
    }
    const int why = errno;
    if (made >= 0) close(made);
    if (made >= 0 && why == EADDRINUSE) return false;
    throw error(status::system_failure,
                fmt::format("fabric: cannot listen for tries of the way to this host ({}); "
                            "SELION_FABRIC_TIMEOUT=0 goes without",
                            std::strerror(why)));
}

connection_listener::~connection_listener() {
    if (file_ >= 0) close(file_);
}

void connection_listener::take_all() const {
    for (int i = 0; file_ >= 0 && i < connections_at_once; ++i) {
        const int taken = accept4(file_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (taken < 0) return;
        close(taken);
    }
}

way_probe::~way_probe() { end_try(); }

void way_probe::end_try() {
    if (file_ >= 0) close(std::exchange(file_, -1));
}

/// At the try that is under way.
void way_probe::look() {
    pollfd one{file_, POLLOUT, 0};
    if (file_ < 0 || poll(&one, 1, 0) <= 0) return;
    int why = 0;
    socklen_t bytes = sizeof why;
    getsockopt(file_, SOL_SOCKET, SO_ERROR, &why, &bytes);
    is_open_ = why == 0;
    trouble_ = is_open_ ? "" : std::strerror(why);
}

void way_probe::try_again(const socket_place& from, const socket_place& to) {
    file_ = socket(to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // No file, or no number, is nothing that the way is to blame for.
    has_tried_ = file_ >= 0 && bind(file_, from.get(), from.bytes) == 0;
    if (!has_tried_ || connect(file_, to.get(), to.bytes) == 0 || errno == EINPROGRESS) return;
    trouble_ = std::strerror(errno);
    end_try();
}

bool way_probe::begin_period(const socket_place& from, const socket_place& to) {
    if (is_open_) return false;
    look();
    end_try();
    if (is_open_) return false;
    if (has_tried_ && ++missed_ >= most_missed) return true;
    try_again(from, to);
    return false;
}

}  // namespace selion::machine::fabric
