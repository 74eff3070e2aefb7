// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/process_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "machine/host/host.hpp"

namespace selion::machine::workers {

process_mark::process_mark() : maker_(getpid()), page_(nullptr) {
    void* const page =
        mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, page_bytes(), MADV_WIPEONFORK) != 0) {
        munmap(page, page_bytes());
        return;
    }
    page_ = static_cast<char*>(page);
    *page_ = 1;
}

process_mark::~process_mark() {
    if (page_ != nullptr) munmap(const_cast<char*>(page_), page_bytes());
}

bool process_mark::is_own() const { return page_ != nullptr ? *page_ != 0 : getpid() == maker_; }

}  // namespace selion::machine::workers
