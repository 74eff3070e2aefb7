// SPDX-License-Identifier: Apache-2.0
#include "machine/host/process_memory.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/knobs.hpp"
#include "selion/error.hpp"

namespace selion::machine {
namespace {

/// Bytes read, which are less than asked for where a page is missing or the call is too long for
/// the kernel; -1: `errno` says why.
std::ptrdiff_t read_some(std::int64_t process, std::uint64_t from, std::span<std::byte> to) {
    const iovec here{to.data(), to.size()};
    const iovec there{reinterpret_cast<void*>(from), to.size()};
    return process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
}

/// @param bytes what a call has returned.
std::size_t moved(std::int64_t process, std::ptrdiff_t bytes) {
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    throw error(status::rank_dead,
                fmt::format("the memory of process {} cannot be reached any more: {}", process,
                            std::strerror(errno)));
}

std::uint64_t make_secret() {
    std::uint64_t secret = 0;
    const auto bytes = static_cast<ssize_t>(sizeof secret);
    return getrandom(&secret, sizeof secret, GRND_NONBLOCK) == bytes ? secret : 0;
}

}  // namespace

process_card own_process_card() {
    static const std::uint64_t secret = make_secret();
    if (secret == 0 || !base::knob_is_on(base::knob::process_memory)) return {};
    return {getpid(), reinterpret_cast<std::uint64_t>(&secret), secret};
}

bool can_read_memory(const process_card& other) {
    if (other.process == 0) return false;
    if (other.process == getpid() && other.secret == own_process_card().secret) return true;
    std::uint64_t found = 0;
    const std::span bytes = std::as_writable_bytes(std::span(&found, 1));
    return read_some(other.process, other.place, bytes) == sizeof found && found == other.secret;
}

void permit_reading_by(std::int64_t process) {
    // Without Yama there is no such call, and nothing to permit.
    if (base::knob_is_on(base::knob::process_memory)) prctl(PR_SET_PTRACER, process);
}

void read_memory(std::int64_t process, std::uint64_t from, std::span<std::byte> to) {
    while (!to.empty()) {
        const std::size_t bytes = moved(process, read_some(process, from, to));
        from += bytes;
        to = to.subspan(bytes);
    }
}

void write_memory(std::int64_t process, std::uint64_t to, std::span<const std::byte> from) {
    while (!from.empty()) {
        const iovec here{const_cast<std::byte*>(from.data()), from.size()};
        const iovec there{reinterpret_cast<void*>(to), from.size()};
        const std::size_t bytes =
            moved(process, process_vm_writev(static_cast<pid_t>(process), &here, 1, &there, 1, 0));
        to += bytes;
        from = from.subspan(bytes);
    }
}

}  // namespace selion::machine
