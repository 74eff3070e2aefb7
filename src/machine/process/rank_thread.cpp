// SPDX-License-Identifier: Apache-2.0
#include "machine/process/rank_thread.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace selion::machine {
namespace {

constexpr std::size_t least_where_unlimited = std::size_t{8} << 20;

/// What the C library gives a thread, which the program may have changed.
std::size_t usual_bytes() {
    pthread_attr_t usual;
    std::size_t bytes = 0;
    if (pthread_getattr_default_np(&usual) != 0) return bytes;
    pthread_attr_getstacksize(&usual, &bytes);
    pthread_attr_destroy(&usual);
    return bytes;
}

class stack_wish {
public:
    stack_wish() {
        pthread_attr_init(&wish_);
        rlimit limit{};
        if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
            pthread_attr_setstacksize(&wish_, std::max(usual_bytes(), least_where_unlimited));
        }
    }
    ~stack_wish() { pthread_attr_destroy(&wish_); }
    stack_wish(const stack_wish&) = delete;
    stack_wish& operator=(const stack_wish&) = delete;

    const pthread_attr_t* get() const { return &wish_; }

private:
    pthread_attr_t wish_{};
};

void* run(void* argument) {
    const std::unique_ptr<std::function<void()>> body(
        static_cast<std::function<void()>*>(argument));
    (*body)();
    return nullptr;
}

}  // namespace

rank_thread::rank_thread(std::function<void()> body) {
    auto owned = std::make_unique<std::function<void()>>(std::move(body));
    const stack_wish wish;
    pthread_t id{};
    const int trouble = pthread_create(&id, wish.get(), run, owned.get());
    if (trouble != 0) throw std::system_error(trouble, std::generic_category());
    static_cast<void>(owned.release());  // the thread has it
    id_ = id;
}

rank_thread::rank_thread(rank_thread&& other) noexcept
    : id_(std::exchange(other.id_, std::nullopt)) {}

rank_thread& rank_thread::operator=(rank_thread&& other) noexcept {
    join();
    id_ = std::exchange(other.id_, std::nullopt);
    return *this;
}

void rank_thread::join() {
    if (id_) pthread_join(*std::exchange(id_, std::nullopt), nullptr);
}

}  // namespace selion::machine
