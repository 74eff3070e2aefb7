// SPDX-License-Identifier: Apache-2.0
#include "machine/host/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace selion::machine {

int beyond_standard_streams(int file) {
    if (file < 0 || file > STDERR_FILENO) return file;
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int trouble = errno;
    close(file);
    errno = trouble;
    return moved;
}

int make_memory_file(const char* name) {
    return beyond_standard_streams(memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC));
}

bool seal_memory_file(int file) {
    return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

bool is_sealed_memory_file(int file) {
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SEAL) != 0;
}

int set_memory_bytes(int file, std::uint64_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        errno = EFBIG;  // the system would end the process by SIGXFSZ
        return -1;
    }
    return ftruncate(file, static_cast<off_t>(bytes));
}

int make_sealed_file(const char* name, std::uint64_t bytes) {
    const int file = make_memory_file(name);
    if (file < 0) return -1;
    if (set_memory_bytes(file, bytes) != 0 || !seal_memory_file(file)) {
        close(file);
        return -1;
    }
    return file;
}

}  // namespace selion::machine
