// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/peer_watch.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/knobs.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

/// Pulses that are taken before the thread looks at anything else.
constexpr int most_taken = 64;

error failure(std::string_view what) {
    return {status::system_failure,
            fmt::format("fabric: cannot {} a datagram socket for signs of life ({}); "
                        "SELION_FABRIC_TIMEOUT=0 goes without",
                        what, std::strerror(errno))};
}

/// The size of an address of IP, or 0.
socklen_t bytes_of(const sockaddr* address) {
    if (address->sa_family == AF_INET) return sizeof(sockaddr_in);
    return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

struct list_closer {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

/// Whether other hosts may be reached over it.
bool may_lead_out(const ifaddrs& one) {
    return one.ifa_addr != nullptr && one.ifa_addr->sa_family == AF_INET &&
           (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0;
}

/// Whether it has no cable, an address that is good for one link only, as those of management
/// controllers are, or leads to what runs on the host itself.
bool is_unlikely(const ifaddrs& one) {
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one.ifa_addr);
    constexpr std::uint32_t link_local = 169u << 8 | 254;
    if ((one.ifa_flags & IFF_RUNNING) == 0) return true;
    if (ntohl(address->sin_addr.s_addr) >> 16 == link_local) return true;
    constexpr std::array<std::string_view, 4> of_the_host{"docker", "virbr", "veth", "podman"};
    return std::ranges::any_of(of_the_host, [&](std::string_view start) {
        return std::string_view(one.ifa_name).starts_with(start);
    });
}

/// The first one, if possible one that is likely. @return its size, or 0 if the host has none.
socklen_t first_of_host(sockaddr_storage& found) {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return 0;
    const std::unique_ptr<ifaddrs, list_closer> all(first);
    const ifaddrs* chosen = nullptr;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (!may_lead_out(*one)) continue;
        if (chosen == nullptr || (is_unlikely(*chosen) && !is_unlikely(*one))) chosen = one;
    }
    if (chosen == nullptr) return 0;
    std::memcpy(&found, chosen->ifa_addr, sizeof(sockaddr_in));
    return sizeof(sockaddr_in);
}

/// @return one without bytes if there is none.
socket_place choose_address(std::span<const std::byte> near) {
    socket_place chosen;
    if (near.size() >= sizeof(sockaddr_in) && near.size() <= sizeof chosen.address) {
        std::memcpy(&chosen.address, near.data(), near.size());
        chosen.bytes = bytes_of(chosen.get());
        if (chosen.bytes == near.size()) return chosen.without_port();
    }
    chosen.address = {};
    chosen.bytes = first_of_host(chosen.address);
    return chosen;
}

/// The same for the same ones, in whatever order.
std::uint32_t sum_of(const std::vector<std::uint32_t>& processes) {
    std::uint32_t sum = 0;
    for (const std::uint32_t process : processes) sum += (process + 1) * 2654435761u;
    return sum;
}

}  // namespace

pulse_socket::pulse_socket(std::span<const std::byte> near, bool listens) {
    const socket_place where = choose_address(near);
    if (where.bytes == 0) {
        throw error(status::system_failure,
                    "fabric: no interface but loopback has an address for signs of life; "
                    "SELION_FABRIC_TIMEOUT=0 goes without");
    }
    // One number for both, so that one address tells others all.
    constexpr int most_tries = 64;
    for (int i = 0; i < most_tries; ++i) {
        open(where);
        if (!listens || listener_.open(place())) return;
        close(std::exchange(file_, -1));
    }
    throw error(status::system_failure,
                "fabric: no number is free for signs of life; SELION_FABRIC_TIMEOUT=0 goes "
                "without");
}

void pulse_socket::open(const socket_place& where) {
    file_ = socket(where.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file_ < 0) throw failure("open");
    if (bind(file_, where.get(), where.bytes) == 0) return;
    const error trouble = failure("bind");
    close(file_);
    throw trouble;
}

pulse_socket::~pulse_socket() { close(file_); }

socket_place pulse_socket::place() const {
    socket_place own;
    own.bytes = sizeof own.address;
    if (getsockname(file_, own.get(), &own.bytes) != 0) own.bytes = 0;
    return own;
}

std::vector<std::byte> pulse_socket::name() const {
    const socket_place own = place();
    const auto* const first = reinterpret_cast<const std::byte*>(&own.address);
    return {first, first + own.bytes};
}

peer_watch::peer_watch(const pulse_socket& socket, surroundings around)
    : socket_(socket),
      around_(std::move(around)),
      period_ns_(std::max<std::int64_t>(around_.timeout_ns / heartbeat::periods, 1)) {}

int peer_watch::due_ms(std::int64_t now_ns) const {
    constexpr std::int64_t ns_per_ms = 1'000'000;
    constexpr std::int64_t most_ms = 3'600'000;  // a longer one is asked for again
    return static_cast<int>(
        std::clamp<std::int64_t>((due_ns_ - now_ns) / ns_per_ms + 1, 0, most_ms));
}

/// @return what the network said against it, or nothing.
std::string peer_watch::send(const socket_place& where, pulse::kind what,
                             std::uint32_t subject) const {
    const pulse sent{.secret = around_.secret,
                     .origin = around_.own_process,
                     .what = what,
                     .subject = subject,
                     .deaths = sum_of(all_dead())};
    if (sendto(socket_.file(), &sent, sizeof sent, MSG_NOSIGNAL, where.get(), where.bytes) >= 0) {
        return {};
    }
    return std::strerror(errno);
}

bool peer_watch::is_of_job(const pulse& came, std::size_t bytes) const {
    return bytes == sizeof came && came.secret == around_.secret &&
           came.origin < around_.processes && came.subject < around_.processes;
}

void peer_watch::take_pulses() {
    for (int i = 0; i < most_taken; ++i) {
        pulse came;
        socket_place from;
        from.bytes = sizeof from.address;
        const ssize_t bytes =
            recvfrom(socket_.file(), &came, sizeof came, MSG_TRUNC, from.get(), &from.bytes);
        // An error is of an earlier pulse, and what comes of it is silence.
        if (bytes < 0) return;
        if (!is_of_job(came, static_cast<std::size_t>(bytes))) {
            ++strange_;
            continue;
        }
        switch (came.what) {
            case pulse::kind::question:
                askers_[came.origin] = from;
                if (deaths_) compare_deaths(came, from);
                send(from, pulse::kind::answer);
                break;
            case pulse::kind::answer:
                if (deaths_) compare_deaths(came, from);
                if (const auto one = asked_.find(came.origin); one != asked_.end()) {
                    one->second.beat.is_answered = true;
                }
                break;
            case pulse::kind::end:
                tell_all(pulse::kind::end, came.subject);
                around_.on_silence(came.subject, {}, came.origin);
                break;
            case pulse::kind::death:
                if (deaths_) deaths_->on_death(came.subject);
        }
    }
}

/// So that those hear of it who would find this process silent next, each after all the time again.
void peer_watch::tell_all(pulse::kind what, std::uint32_t subject) {
    for (const auto& [process, where] : askers_) send(where, what, subject);
    for (const auto& [process, peer] : asked_) send(peer.where, what, subject);
}

/// What this process has heard since the last time, wherever from.
void peer_watch::tell_news() {
    const std::vector<std::uint32_t> dead = all_dead();
    for (; told_deaths_ < dead.size(); ++told_deaths_) {
        tell_all(pulse::kind::death, dead[told_deaths_]);
    }
}

bool peer_watch::is_dead(std::uint32_t process) const {
    const std::vector<std::uint32_t> dead = all_dead();
    return std::ranges::find(dead, process) != dead.end();
}

/// Pulses may be lost: whoever finds that another one knows of others names all. One that is taken
/// for dead hears it too.
void peer_watch::compare_deaths(const pulse& came, const socket_place& from) {
    if (came.deaths == sum_of(all_dead()) && !is_dead(came.origin)) return;
    for (const std::uint32_t process : all_dead()) send(from, pulse::kind::death, process);
}

/// One is silent for too long: so are those of its host that have had two chances.
void peer_watch::lose_host_of(std::uint32_t process) {
    constexpr int chances = 2;
    const std::string trouble = asked_[process].trouble;
    for (const std::uint32_t other : deaths_->all_beside(process)) {
        const auto found = asked_.find(other);
        const bool is_silent =
            other == process || (found != asked_.end() && found->second.beat.missed >= chances);
        if (is_silent) deaths_->on_silence(other, trouble);
    }
}

/// As the surroundings like, and all of a host where one has not answered.
std::vector<std::uint32_t> peer_watch::whom_to_ask() const {
    std::vector<std::uint32_t> before;
    for (const auto& [process, peer] : asked_) before.push_back(process);
    std::vector<std::uint32_t> wanted = around_.whom_to_ask(before);
    if (!deaths_) return wanted;
    const auto add = [&](std::uint32_t process) {
        const bool is_listed = std::ranges::find(wanted, process) != wanted.end();
        if (!is_listed && !is_dead(process)) wanted.push_back(process);
    };
    for (const auto& [process, peer] : asked_) {
        const bool is_late = peer.beat.is_asked && !peer.beat.is_answered;
        if (!is_late || is_dead(process)) continue;
        for (const std::uint32_t other : deaths_->all_beside(process)) add(other);
    }
    return wanted;
}

void peer_watch::ask(std::uint32_t process) {
    asked_peer& peer = asked_[process];
    if (peer.where.bytes == 0) {
        const std::vector<std::byte> address = around_.address_of(process);
        // One whose environment says that it goes without signs of life is not asked for any.
        if (address.empty() || address.size() > sizeof peer.where.address) return;
        std::memcpy(&peer.where.address, address.data(), address.size());
        peer.where.bytes = static_cast<socklen_t>(address.size());
    }
    if (peer.beat.begin_period()) {
        if (deaths_) return lose_host_of(process);
        tell_all(pulse::kind::end, process);
        around_.on_silence(process, peer.trouble, around_.own_process);
        return;
    }
    peer.trouble = send(peer.where, pulse::kind::question);
    if (!is_barred(process, peer.where)) return;
    if (!deaths_) tell_all(pulse::kind::end, process);
    around_.on_barred(process, ways_[process].trouble());
}

/// Datagrams may pass where connections do not.
bool peer_watch::is_barred(std::uint32_t process, const socket_place& where) {
    return around_.on_barred && ways_[process].begin_period(socket_.place().without_port(), where);
}

void peer_watch::look(std::int64_t now_ns) {
    take_pulses();
    socket_.take_connections();
    tell_news();
    if (now_ns < due_ns_) return;
    // From now, not from when it was due: a process that was stopped has missed no answer.
    due_ns_ = now_ns + period_ns_;
    const std::vector<std::uint32_t> wanted = whom_to_ask();
    std::erase_if(asked_, [&](const auto& one) {
        return std::ranges::find(wanted, one.first) == wanted.end();
    });
    for (const std::uint32_t process : wanted) {
        if (!is_dead(process)) ask(process);
    }
    tell_news();
}

std::vector<std::uint32_t> choose_asked(std::uint32_t own_process, std::uint32_t processes,
                                        std::span<const std::uint32_t> debtors,
                                        std::span<const std::uint32_t> asked_before,
                                        const std::function<std::string(std::uint32_t)>& host_of) {
    std::vector<std::uint32_t> chosen;
    std::set<std::string> hosts{host_of(own_process)};
    const auto add = [&](std::uint32_t process) {
        const bool is_new = hosts.insert(host_of(process)).second;
        if (is_new) chosen.push_back(process);
        return is_new;
    };
    for (std::uint32_t i = 1; i < processes && !add((own_process + i) % processes); ++i) continue;
    // The next host too may have one that is slow to take, but it is asked by its first.
    for (const std::uint32_t process : asked_before) {
        if (std::ranges::find(debtors, process) != debtors.end()) add(process);
    }
    for (const std::uint32_t process : debtors) add(process);
    return chosen;
}

std::string no_connection_text(const std::string& why) {
    return fmt::format(
        "no connection (TCP) has come about for {} s{}, while signs of life (UDP) arrive: a "
        "firewall lets only datagrams pass",
        base::knob_seconds(base::knob::fabric_timeout), why.empty() ? "" : " (" + why + ")");
}

std::string no_sign_text(const std::string& why) {
    return fmt::format("there was no sign of life of its host for {} s{}",
                       base::knob_seconds(base::knob::fabric_timeout),
                       why.empty() ? "" : " (" + why + ")");
}

std::string silence_text(const std::string& speaker, const std::string& silent, bool is_own,
                         const std::string& why) {
    if (!is_own) {  // they say themselves what it was
        return fmt::format(
            "{} hears of others that have not reached {} for {} s: that host, or the way to it, is "
            "gone; the job ends",
            speaker, silent == speaker ? "it" : silent,
            base::knob_seconds(base::knob::fabric_timeout));
    }
    return fmt::format(
        "{} has had no sign of life of {} for {} s{}: that host, or the way to it, is gone; the "
        "job ends",
        speaker, silent, base::knob_seconds(base::knob::fabric_timeout),
        why.empty() ? "" : " (" + why + ")");
}

}  // namespace selion::machine::fabric
