// SPDX-License-Identifier: Apache-2.0
#include "machine/process/file_size_limit.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace selion::machine {
namespace {

sigset_t size_signal() {
    sigset_t own{};
    sigemptyset(&own);
    sigaddset(&own, SIGXFSZ);
    return own;
}

}  // namespace

file_size_limit_is_error::file_size_limit_is_error() {
    const int trouble = errno;
    const sigset_t own = size_signal();
    sigset_t pending{};
    pthread_sigmask(SIG_BLOCK, &own, &before_);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    errno = trouble;
}

file_size_limit_is_error::~file_size_limit_is_error() {
    const int trouble = errno;
    const sigset_t own = size_signal();
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&own, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = trouble;
}

}  // namespace selion::machine
