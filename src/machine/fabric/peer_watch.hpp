// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/fabric/way_probe.hpp"

/// Whether processes on other hosts still live: protocol.md, "Silence". Knows neither libfabric nor
/// PMIx.
namespace selion::machine::fabric {

/// What processes send each other beside all frames, as datagrams.
struct pulse {
    enum class kind : std::uint32_t { question = 1, answer = 2, end = 3, death = 4 };
    std::uint64_t secret = 0;
    std::uint32_t origin = 0;
    kind what = kind::question;
    std::uint32_t subject = 0;  ///< end: the process that is silent
    std::uint32_t deaths = 0;   ///< a sum over all that the sender knows of
};
static_assert(sizeof(pulse) == 24);

/// Questions of a process to one other, a period apart.
struct heartbeat {
    /// Questions without an answer, after which the asked one is taken for dead.
    static constexpr int most_missed = 4;
    /// Into which the time of silence that is allowed is divided: an answer may have come just
    /// after the last question that had one.
    static constexpr int periods = most_missed + 1;

    bool is_asked = false;
    bool is_answered = false;
    int missed = 0;

    /// A period is over and the next question is due. @return whether the silence is too long.
    bool begin_period() {
        if (is_asked) missed = is_answered ? 0 : missed + 1;
        is_asked = true;
        is_answered = false;
        return missed >= most_missed;
    }
};

/// A socket for pulses, of an address that others reach, and a listener of that address.
class pulse_socket {
public:
    /// @param near address of the process in its network, as a `sockaddr`; if it is none of IP, the
    /// first one of the host that is not loopback. @error system_failure (thrown)
    /// @param listens for others that try whether connections come about (`way_probe`)
    explicit pulse_socket(std::span<const std::byte> near, bool listens = false);
    ~pulse_socket();
    pulse_socket(const pulse_socket&) = delete;
    pulse_socket& operator=(const pulse_socket&) = delete;

    int file() const { return file_; }
    /// Its address, for the others' `peer_watch`.
    std::vector<std::byte> name() const;
    socket_place place() const;
    bool listens() const { return listener_.is_open(); }
    void take_connections() const { listener_.take_all(); }

private:
    void open(const socket_place& where);

    int file_ = -1;
    connection_listener listener_;
};

/// Asks others whether they live and answers those who ask. All calls by one thread.
class peer_watch {
public:
    struct surroundings {
        std::uint64_t secret;
        std::uint32_t own_process;
        std::uint32_t processes;  ///< of the job
        std::int64_t timeout_ns;  ///< of silence
        /// Whom to ask in the period that begins. @param asked_before in the one that is over
        std::function<std::vector<std::uint32_t>(std::span<const std::uint32_t> asked_before)>
            whom_to_ask;
        /// Where a process's socket is.
        std::function<std::vector<std::byte>(std::uint32_t process)> address_of;
        /// One has not answered for too long. @param why the network said, or nothing
        /// @param teller who has found that out: the own process, or another
        std::function<void(std::uint32_t process, const std::string& why, std::uint32_t teller)>
            on_silence;
        /// One answers, but connections to it do not come about; null: nobody needs any.
        /// @param why the network said, or nothing
        std::function<void(std::uint32_t process, const std::string& why)> on_barred = {};
    };
    /// Where the job outlives the dead.
    struct death_hearing {
        /// Who they are, as far as the own process knows, in the order in which it has heard.
        std::function<std::vector<std::uint32_t>()> all_dead;
        /// Another one says that a process is dead; it may be the own one, or known.
        std::function<void(std::uint32_t process)> on_death;
        /// In place of that of `surroundings`: for each process of a silent host.
        std::function<void(std::uint32_t process, const std::string& why)> on_silence;
        /// All processes of the host of one.
        std::function<std::vector<std::uint32_t>(std::uint32_t process)> all_beside;
    };

    peer_watch(const pulse_socket& socket, surroundings around);
    /// Before the first look.
    void hear_of_deaths(death_hearing how) { deaths_ = std::move(how); }

    int file() const { return socket_.file(); }
    /// Milliseconds until `look` is due, whether or not the file becomes readable.
    int due_ms(std::int64_t now_ns) const;
    /// Takes what has come, and asks if a period is over.
    void look(std::int64_t now_ns);
    /// Datagrams that have come and are no signs of life of this job.
    std::uint64_t strange() const { return strange_; }

private:
    struct asked_peer {
        socket_place where;
        heartbeat beat;
        std::string trouble;  ///< of the last attempt to ask
    };

    void take_pulses();
    bool is_of_job(const pulse& came, std::size_t bytes) const;
    void ask(std::uint32_t process);
    bool is_barred(std::uint32_t process, const socket_place& where);
    void tell_all(pulse::kind what, std::uint32_t subject);
    void tell_news();
    void compare_deaths(const pulse& came, const socket_place& from);
    void lose_host_of(std::uint32_t process);
    std::vector<std::uint32_t> whom_to_ask() const;
    bool is_dead(std::uint32_t process) const;
    std::vector<std::uint32_t> all_dead() const {
        return deaths_ ? deaths_->all_dead() : std::vector<std::uint32_t>{};
    }
    std::string send(const socket_place& where, pulse::kind what, std::uint32_t subject = 0) const;

    const pulse_socket& socket_;
    surroundings around_;
    std::int64_t period_ns_;
    std::int64_t due_ns_ = 0;
    std::uint64_t strange_ = 0;
    std::optional<death_hearing> deaths_;  ///< if they do not end the job
    std::size_t told_deaths_ = 0;          ///< of all that are known
    std::map<std::uint32_t, asked_peer> asked_;
    std::map<std::uint32_t, way_probe> ways_;       ///< to all that have ever been asked
    std::map<std::uint32_t, socket_place> askers_;  ///< who has asked, as they were last seen
};

/// Whom to ask: the first process after the own one that is on another host, and of each other
/// host one that has not taken what was sent to it, if possible one that is asked already.
/// @param host_of for equality only.
std::vector<std::uint32_t> choose_asked(std::uint32_t own_process, std::uint32_t processes,
                                        std::span<const std::uint32_t> debtors,
                                        std::span<const std::uint32_t> asked_before,
                                        const std::function<std::string(std::uint32_t)>& host_of);

/// What is said where one answers, while connections to it do not come about.
std::string no_connection_text(const std::string& why);
/// Why one is taken for dead.
std::string no_sign_text(const std::string& why);
/// What is said of silence. @param speaker, silent ranks of the two. @param is_own whether the
/// speaker has found it out
std::string silence_text(const std::string& speaker, const std::string& silent, bool is_own,
                         const std::string& why);

}  // namespace selion::machine::fabric
