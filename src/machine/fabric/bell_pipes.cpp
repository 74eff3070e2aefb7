// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/bell_pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "machine/call_record.hpp"

namespace selion::machine::fabric {

bell_pipes::bell_pipes(const node::shared_mapping& mapping)
    : mapping_(mapping), ends_(mapping.control().bells) {}

bell_pipes::~bell_pipes() {
    for (pipe_ends& one : ends_) {
        if (one.out >= 0) close(one.out);
        const int in = one.in.load(std::memory_order_relaxed);
        if (in >= 0) close(in);
    }
}

void bell_pipes::open(std::uint32_t number) {
    pipe_ends& ends = ends_[number];
    std::array<int, 2> files{};
    struct stat made {};
    if (ends.out >= 0 || pipe2(files.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    fstat(files[0], &made);
    ends.out = files[0];
    // Kept open here: a pipe without a writer is always readable.
    ends.in.store(files[1], std::memory_order_relaxed);
    node::doorbell& bell = mapping_.bell(number);
    publish(bell.pipe_inode, std::uint64_t{made.st_ino});
    publish(bell.pipe, files[0]);
    publish(bell.process, static_cast<std::int32_t>(getpid()));
}

void bell_pipes::hush(std::uint32_t bell) {
    std::array<char, 256> rings{};
    while (read(ends_[bell].out, rings.data(), rings.size()) == ssize_t{rings.size()}) {
    }
}

/// The process may be gone, and another one have its number: then nothing is written to that. Or
/// it goes later: the pipe is opened for reading too, so that writing to it is no SIGPIPE then.
int bell_pipes::find(const node::doorbell& bell) const {
    const std::string path =
        fmt::format("/proc/{}/fd/{}", look_at(bell.process), look_at(bell.pipe));
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    struct stat found {};
    const bool is_it = fstat(file, &found) == 0 && S_ISFIFO(found.st_mode) &&
                       found.st_ino == look_at(bell.pipe_inode);
    if (is_it) return file;
    close(file);
    return -1;
}

void bell_pipes::ring(std::uint32_t number) {
    std::atomic<int>& in = ends_[number].in;
    int file = in.load(std::memory_order_relaxed);
    if (file < 0) {
        const int opened = find(mapping_.bell(number));
        if (opened < 0) return;
        // Another thread may have been quicker.
        const bool is_first = in.compare_exchange_strong(file, opened, std::memory_order_relaxed);
        if (!is_first) close(opened);
        if (is_first) file = opened;
    }
    constexpr char one = 1;
    // A full pipe is readable as well.
    while (write(file, &one, 1) < 0 && errno == EINTR) {
    }
}

}  // namespace selion::machine::fabric
