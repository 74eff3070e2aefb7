// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

/// Whether connections to another host come about: protocol.md, "Silence". Knows neither libfabric
/// nor PMIx.
namespace selion::machine::fabric {

/// An address of IP, of a socket.
struct socket_place {
    sockaddr_storage address{};
    socklen_t bytes = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&address); }
    /// The same of the host, with a number that the kernel picks.
    socket_place without_port() const;
};

/// Takes connections (TCP) and lets them go at once: that they came about is all that others want
/// to know, and the kernel sees to that, whatever this process does.
class connection_listener {
public:
    /// At the address and number of another kind of socket. @return false: somebody else has it.
    /// @error system_failure (thrown)
    bool open(const socket_place& where);
    ~connection_listener();
    connection_listener() = default;
    connection_listener(const connection_listener&) = delete;
    connection_listener& operator=(const connection_listener&) = delete;

    bool is_open() const { return file_ >= 0; }
    void take_all() const;

private:
    int file_ = -1;
};

/// Tries to connect to one listener, once in a period, until it has.
class way_probe {
public:
    /// Periods without a connection, after which no more is hoped for.
    static constexpr int most_missed = 4;

    way_probe() = default;
    ~way_probe();
    way_probe(const way_probe&) = delete;
    way_probe& operator=(const way_probe&) = delete;

    /// A period is over and the next try is due, if there has to be one.
    /// @return whether there is no way, as it seems.
    bool begin_period(const socket_place& from, const socket_place& to);
    bool is_open() const { return is_open_; }
    /// What the network said of the last try, or nothing.
    const std::string& trouble() const { return trouble_; }

private:
    void look();
    void try_again(const socket_place& from, const socket_place& to);
    void end_try();

    int file_ = -1;  ///< of the try that is under way
    bool has_tried_ = false;
    bool is_open_ = false;
    int missed_ = 0;
    std::string trouble_;
};

}  // namespace selion::machine::fabric
