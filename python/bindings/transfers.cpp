// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <selion/counter.hpp>
#include <selion/detail/rank_death.hpp>
#include <selion/split_phase.hpp>

#include "caller.hpp"
#include "global_array.hpp"
#include "module.hpp"
#include "under_way.hpp"

namespace bindings {

namespace {

/// A put or a get, with the memory on this side.
class transfer : public under_way {
public:
    transfer(std::int64_t rank, nb::object keeps, nb::object result)
        : rank_(static_cast<std::uint32_t>(rank)),
          keeps_(std::move(keeps)),
          result_(std::move(result)) {}

    selion::counter& counter() { return done_; }
    nb::object result() const { return result_; }

    /// Also when a death has ended it, once a wait has told so. While a thread waits, nobody else
    /// looks at the counter.
    bool is_over() const override {
        const std::lock_guard lock(mutex_);
        return was_taken_ || (!is_awaited_ && done_.value() > 0);
    }

    /// But for what a get fills: whoever has waited for it asks where that is.
    void let_go() override {
        if (is_lost()) return;
        const nb::object gone = std::move(keeps_);  // may run code that comes back here
    }

private:
    /// One thread at a time waits for the counter; others wait for that one.
    bool wait(std::optional<std::chrono::nanoseconds> time) override {
        using clock = std::chrono::steady_clock;
        const clock::time_point end = clock::now() + time.value_or(std::chrono::nanoseconds(0));
        std::unique_lock lock(mutex_);
        const auto may_go_on = [this] { return was_taken_ || !is_awaited_; };
        if (!time) {
            nobody_waits_.wait(lock, may_go_on);
        } else if (!nobody_waits_.wait_until(lock, end, may_go_on)) {
            return false;
        }
        if (was_taken_) return true;
        is_awaited_ = true;
        lock.unlock();
        bool has_come = false;
        try {
            if (!time) done_.wait();
            has_come = !time || done_.wait(1, std::max(end - clock::now(), clock::duration(0)));
        } catch (...) {
            leave(false);
            throw;
        }
        leave(has_come);
        return has_come;
    }

    void leave(bool has_come) {
        const std::lock_guard lock(mutex_);
        is_awaited_ = false;
        was_taken_ = has_come;
        nobody_waits_.notify_all();
    }

    bool is_lost() const override { return selion::detail::is_dead(rank_); }

    std::uint32_t rank_;  ///< whose memory it reads or writes
    nb::object keeps_;
    nb::object result_;
    selion::counter done_;
    mutable std::mutex mutex_;  ///< of what follows, and of the counter while nobody waits for it
    std::condition_variable nobody_waits_;
    bool is_awaited_ = false;
    bool was_taken_ = false;
};

started start_put(const global_array& array, nb::handle values, std::int64_t rank,
                  std::int64_t offset) {
    array.expect_alive();
    element_memory source = array.source_of(values);
    const bytes_ptr target = array.place(rank, offset, source.bytes);
    if (source.overlaps(target)) [[unlikely]]
        source = source.copy();
    auto made = std::make_unique<transfer>(rank, source.keeps, nb::none());
    {
        const yield_unless_quick free(target, source.bytes);
        selion::put(target, std::span<const std::byte>(source.data, source.bytes), made->counter());
    }
    return started(std::move(made));
}

started start_get(const global_array& array, std::int64_t rank, std::int64_t offset,
                  std::optional<std::int64_t> count, nb::handle out) {
    array.expect_alive();
    nb::object result;
    const element_memory target = array.target_of(offset, count, out, result);
    const bytes_ptr source = array.place(rank, offset, target.bytes);
    auto made = std::make_unique<transfer>(rank, target.keeps, std::move(result));
    if (target.overlaps(source)) {
        read_into(target, source);
        made->counter().set(1);
    } else {
        const yield_unless_quick free(source, target.bytes);
        selion::get(std::span(target.data, target.bytes), source, made->counter());
    }
    return started(std::move(made));
}

nb::object result_of(const started& which) { return which.as<transfer>().result(); }

/// @param member of the world; none: all of them
void quiet(const selion::world& all, std::optional<std::int64_t> rank) {
    expect_may_wait("quiet");
    expect_member(all);
    if (rank && (*rank < 0 || *rank >= std::int64_t{all.size()})) {
        raise_index("The rank is " + std::to_string(*rank) + "; legal: 0 to " +
                    std::to_string(all.size() - 1) + ".");
    }
    const place_of_start place;
    const nb::gil_scoped_release free;
    rank ? selion::quiet(static_cast<std::uint32_t>(*rank)) : selion::quiet();
}

void fence(const selion::world& all) {
    expect_member(all);
    const yield_to_simulated_ranks free;
    selion::fence();
}

}  // namespace

void add_transfers(nb::module_& module, documented<selion::world, selion::team>& world) {
    module.def("start_put", &start_put, nb::arg("array"), nb::arg("values").none(), nb::arg("rank"),
               nb::arg("offset"), "Starts to write values into a rank's part.");
    module.def("start_get", &start_get, nb::arg("array"), nb::arg("rank"), nb::arg("offset"),
               nb::arg("count").none(), nb::arg("out").none(),
               "Starts to read from a rank's part.");
    module.def("result_of", &result_of, nb::arg("started"),
               "Where a get that was started writes to.");
    world.def("quiet", &quiet, nb::arg("rank").none() = nb::none()).def("fence", &fence);
}

}  // namespace bindings
