// SPDX-License-Identifier: Apache-2.0
#include "world/claimed_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace selion::detail {
namespace {

/// A byte that no file has: whoever writes a part locks the file in another way (`locked_file`).
struct flock claim_of(short type) {
    struct flock byte {};
    byte.l_type = type;
    byte.l_whence = SEEK_SET;
    byte.l_start = std::numeric_limits<off_t>::max() - 1;
    byte.l_len = 1;
    return byte;
}

/// Where a lock of the whole file, which parts are written under, is one of all its bytes.
bool has_one_kind_of_lock(int file) {
    struct statfs system {};
    return fstatfs(file, &system) != 0 || system.f_type == NFS_SUPER_MAGIC ||
           system.f_type == SMB_SUPER_MAGIC || system.f_type == SMB2_SUPER_MAGIC ||
           system.f_type == CIFS_SUPER_MAGIC;
}

bool is_regular(int file) {
    struct stat facts {};
    return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

bool claimed_file::claim(const std::string& path) {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file_ < 0) return true;  // whoever writes to it will say why
    if (!is_regular(file_) || has_one_kind_of_lock(file_)) {
        give_back();
        return true;
    }
    struct flock wanted = claim_of(F_WRLCK);
    if (fcntl(file_, F_OFD_SETLK, &wanted) == 0) return true;
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    give_back();
    return !is_taken;
}

void claimed_file::give_back() {
    if (file_ < 0) return;
    // Closed alone, it would still be claimed by a child that has been forked meanwhile.
    struct flock none = claim_of(F_UNLCK);
    fcntl(file_, F_OFD_SETLK, &none);
    close(file_);
    file_ = -1;
}

}  // namespace selion::detail
