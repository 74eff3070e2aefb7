// SPDX-License-Identifier: Apache-2.0
/// Stands in front of the C library's locks: those of the C++ library call them by name.
#include "cost/counted_locks.hpp"

#include <dlfcn.h>
#include <pthread.h>

namespace {

thread_local std::uint64_t locks = 0;

/// The function of that name behind this program's own.
template <class Lock>
int take(const char* name, Lock* lock) {
    ++locks;
    using function = int (*)(Lock*);
    return reinterpret_cast<function>(dlsym(RTLD_NEXT, name))(lock);
}

}  // namespace

namespace cost {

std::uint64_t locks_of_this_thread() { return locks; }

}  // namespace cost

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* lock) noexcept { return take("pthread_mutex_lock", lock); }
int pthread_mutex_trylock(pthread_mutex_t* lock) noexcept {
    return take("pthread_mutex_trylock", lock);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    return take("pthread_rwlock_rdlock", lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    return take("pthread_rwlock_wrlock", lock);
}
}
