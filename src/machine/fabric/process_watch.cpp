// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/process_watch.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace selion::machine::fabric {
namespace {

constexpr std::uint64_t no_rank = UINT64_MAX;

void listen_to(int set, int file, std::uint64_t number) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u64 = number;
    epoll_ctl(set, EPOLL_CTL_ADD, file, &wanted);
}

}  // namespace

process_watch::process_watch()
    : file_(epoll_create1(EPOLL_CLOEXEC)), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    listen_to(file_, bell_, no_rank);
}

process_watch::~process_watch() {
    for (const auto& [rank, file] : processes_) close(file);
    close(bell_);
    close(file_);
}

bool process_watch::add(std::uint32_t rank, std::int32_t process) {
    const auto file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    // Where the kernel has no such files, others tell.
    if (file < 0) return errno != ESRCH;
    listen_to(file_, file, rank);
    processes_[rank] = file;
    return true;
}

void process_watch::ring() const { eventfd_write(bell_, 1); }

void process_watch::take(const std::function<void(std::uint32_t rank)>& has_ended) {
    std::array<epoll_event, 16> found;
    const int count = epoll_wait(file_, found.data(), static_cast<int>(found.size()), 0);
    for (int i = 0; i < count; ++i) {
        const std::uint64_t number = found[static_cast<std::size_t>(i)].data.u64;
        if (number == no_rank) {
            eventfd_t rings = 0;
            eventfd_read(bell_, &rings);
            continue;
        }
        const auto rank = static_cast<std::uint32_t>(number);
        // Closing takes it out of the set.
        if (const auto one = processes_.extract(rank)) close(one.mapped());
        has_ended(rank);
    }
}

}  // namespace selion::machine::fabric
