// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <selion/future.hpp>
#include <selion/team.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "dtype_mark.hpp"
#include "module.hpp"
#include "reduce.hpp"
#include "under_way.hpp"

namespace bindings {

namespace {

/// What a started collective reads and writes, and the future of it. Several threads of the rank
/// may wait: the last one takes the future, whose state is used again then.
class collective_under_way : public under_way {
public:
    /// @param deaths that the rank knew of before it started this one
    collective_under_way(nb::object source, nb::object target, selion::future<> done,
                         std::uint32_t deaths)
        : source_(std::move(source)),
          target_(std::move(target)),
          done_(std::move(done)),
          deaths_(deaths) {}

    bool is_over() const override {
        const std::lock_guard lock(mutex_);
        return was_taken_ || done_.is_ready();
    }

private:
    bool wait(std::optional<std::chrono::nanoseconds> time) override {
        {
            const std::lock_guard lock(mutex_);
            if (was_taken_) return result();
            ++waiters_;
        }
        bool has_come = true;
        try {
            if (time) has_come = done_.wait(*time);
            if (!time) done_.wait();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            leave();
            throw;
        }
        std::unique_lock lock(mutex_);
        leave();
        if (!has_come && !was_taken_) return false;
        // The others see at once that it has come.
        taken_.wait(lock, [this] { return was_taken_; });
        return result();
    }
    /// The last one that waits takes what has come, for all of them.
    void leave() {
        if (--waiters_ != 0 || was_taken_ || !done_.is_ready()) return;
        take();
        taken_.notify_all();
    }
    void take() {
        was_taken_ = true;
        try {
            done_.get();
        } catch (...) {
            trouble_ = std::current_exception();
        }
    }
    bool result() const {
        if (trouble_) std::rethrow_exception(trouble_);
        return true;
    }

    /// Members that come late may read and write after a death has ended it, which only those are
    /// told of who wait.
    bool is_lost() const override {
        const std::lock_guard lock(mutex_);
        const bool is_well = was_taken_ && !trouble_;
        return !is_well && selion::detail::count_of_deaths() != deaths_;
    }

    nb::object source_;
    nb::object target_;
    selion::future<> done_;
    std::uint32_t deaths_;
    mutable std::mutex mutex_;  ///< of what follows, and of who takes the future
    std::condition_variable taken_;
    std::uint32_t waiters_ = 0;  ///< threads that use the future now
    bool was_taken_ = false;
    std::exception_ptr trouble_;  ///< what has ended it
};

started follow(nb::object source, nb::object target, selion::future<> done, std::uint32_t deaths) {
    return started(std::make_unique<collective_under_way>(std::move(source), std::move(target),
                                                          std::move(done), deaths));
}

std::span<std::byte> bytes_of(const std::optional<buffer>& memory) {
    return memory ? std::span(memory->data(), memory->bytes()) : std::span<std::byte>();
}

started start_moving(const selion::team& all, std::string_view what, nb::object source,
                     nb::object target, std::uint32_t root) {
    expect_caller(all);
    std::optional<buffer> from, to;
    if (!source.is_none()) from.emplace(source, buffer::use::read);
    const bool is_only_read = what == "broadcast" && all.rank() == root;
    if (!target.is_none()) {
        to.emplace(target, is_only_read ? buffer::use::read : buffer::use::write);
    }
    const std::span<const std::byte> given = bytes_of(from);
    const std::span<std::byte> taken = bytes_of(to);
    const typed_team typed(all, source.is_none() ? target : source);
    const selion::split_phase_collectives starting = typed.split_phase();
    note_place();
    const std::uint32_t deaths = selion::detail::count_of_deaths();
    selion::future<> done;
    {
        const nb::gil_scoped_release free;
        if (what == "barrier") done = starting.barrier();
        if (what == "broadcast") done = starting.broadcast(taken, root);
        if (what == "gather") done = starting.gather(given, taken, root);
        if (what == "all_gather") done = starting.all_gather(given, taken);
        if (what == "scatter") done = starting.scatter(given, taken, root);
        if (what == "exchange") done = starting.exchange(given, taken);
    }
    return follow(std::move(source), std::move(target), std::move(done), deaths);
}

started start_combining(const selion::team& all, std::string_view what, nb::object array,
                        std::string_view operation, std::uint32_t root, bool is_single) {
    expect_caller(all);
    note_place();
    const std::uint32_t deaths = selion::detail::count_of_deaths();
    selion::future<> done = start_to_combine(all, what, array, operation, root, is_single);
    return follow(nb::none(), std::move(array), std::move(done), deaths);
}

}  // namespace

void add_started(nb::module_& module, documented<selion::team>& team) {
    documented<started>(module, "Started")
        .def_prop_ro("is_ready", &started::is_ready)
        .def("wait", &started::wait, nb::arg("timeout").none() = nb::none());
    module.def("start_moving", &start_moving, nb::arg("team"), nb::arg("what"),
               nb::arg("source").none(), nb::arg("target").none(), nb::arg("root"),
               "Starts a collective that moves blocks of contiguous memory, or a barrier.");
    module.def("start_combining", &start_combining, nb::arg("team"), nb::arg("what"),
               nb::arg("array"), nb::arg("operation"), nb::arg("root"), nb::arg("is_single"),
               "Starts all_reduce, reduce, scan or exscan of an array, in place.");
    team.def_prop_ro("split_phase", [](nb::handle all) {
        return nb::module_::import_("selion.split_phase").attr("SplitPhase")(all);
    });
}

}  // namespace bindings
