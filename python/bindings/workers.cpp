// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <selion/worker_pool.hpp>

#include "buffer.hpp"
#include "module.hpp"

/// Pools for Python: messages lie in memory that host and workers share, and a call is the offset
/// of its message there. What is in a message `selion.offload.messages` knows.
namespace bindings {

namespace {

/// What a call comes to: a status, the length of what it returns, and a ticket for it if it has not
/// found room in the message.
struct reply {
    std::uint64_t status;
    std::uint64_t bytes;
    std::uint64_t ticket;
};

/// A part of what a worker keeps for a ticket; 0: none, a function is called.
struct kept_part {
    std::uint64_t ticket;
    std::uint64_t first;
    std::uint64_t bytes;
};

/// The function of a worker that all calls go to; set before it serves.
nb::object& handler() {
    static nb::object* const own = new nb::object();  // outlives the interpreter
    return *own;
}

reply handle(std::span<std::byte> shared, std::uint64_t place, const kept_part& part) {
    const nb::gil_scoped_acquire python;
    const auto memory = nb::steal<nb::object>(
        PyMemoryView_FromMemory(reinterpret_cast<char*>(shared.data()),
                                static_cast<Py_ssize_t>(shared.size()), PyBUF_WRITE));
    const nb::tuple answer(handler()(memory, place, part.ticket, part.first, part.bytes));
    return {nb::cast<std::uint64_t>(answer[0]), nb::cast<std::uint64_t>(answer[1]),
            nb::cast<std::uint64_t>(answer[2])};
}

const selion::routine python_call{
    "selion.python", [](std::span<std::byte> shared, std::uint64_t place, const kept_part& part) {
        try {
            return handle(shared, place, part);
        } catch (const nb::python_error& trouble) {
            const nb::gil_scoped_acquire python;
            throw std::runtime_error(trouble.what());
        }
    }};

/// What blocks of shared memory are for that Python has as arrays.
enum block_use : std::uint32_t {
    arrays,    ///< the user's, and functions
    results,   ///< values that the user has, or that are on their way
    passages,  ///< through which results go elsewhere
    uses
};

/// Blocks whose arrays Python has let go; any thread may add one.
class garbage {
public:
    void add(std::uint64_t place) {
        const std::lock_guard lock(change_);
        places_.push_back(place);
    }
    /// Bytes that Python has.
    std::array<std::atomic<std::uint64_t>, uses> had{};

    std::vector<std::uint64_t> take() {
        const std::lock_guard lock(change_);
        return std::exchange(places_, {});
    }

private:
    std::mutex change_;
    std::vector<std::uint64_t> places_;
};

/// What keeps an array's memory.
struct array_owner {
    std::shared_ptr<void> mapping;
    std::shared_ptr<garbage> freed;
    std::uint64_t place;
    std::uint64_t bytes;
    block_use use;
};

/// Ends what may wait for workers, while other Python threads go on.
struct unlocked_end {
    template <class T>
    void operator()(T* own) const {
        const nb::gil_scoped_release others;
        delete own;
    }
};
template <class T>
using unlocked = std::unique_ptr<T, unlocked_end>;
using unlock = nb::call_guard<nb::gil_scoped_release>;

/// A call of a pool. Its methods are called without the interpreter's lock where they may wait.
class pool_call {
public:
    explicit pool_call(selion::routine_call<reply> started)
        : call_(new selion::routine_call<reply>(std::move(started))) {}

    /// @param looks stays awake for some time before it sleeps.
    /// @param is_shared also until another call is done.
    /// @return whether it is done, or has failed. False before the time is over: another thread
    /// wants its turn.
    bool wait_for(double seconds, bool looks, bool is_shared) const {
        const auto nanoseconds = static_cast<std::int64_t>(seconds * 1e9);
        const selion::detail::call_hold& hold = call_->hold();
        return selion::detail::wait_call_shared(hold.pool(), hold.call(), nanoseconds,
                                                std::source_location::current(), looks, is_shared);
    }
    reply get() const { return call_->get(); }
    bool is_done() const { return call_->is_done(); }
    void cancel() const { call_->cancel(); }
    std::uint32_t worker() const { return call_->worker(); }
    bool has_worker() const { return selion::detail::has_worker(call_->hold().call()); }

private:
    unlocked<selion::routine_call<reply>> call_;
};

using bytes_array = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>, nb::c_contig>;

/// A pool of worker processes. Calls of it must not overlap: `selion.offload.Pool` sees to that.
/// Calls that wait for a worker are never too many: Python's executors do not wait when they
/// submit.
class process_pool {
public:
    process_pool(std::uint32_t workers, std::vector<std::string> command,
                 std::uint64_t shared_bytes, std::uint32_t depth, double spin_s)
        : pool_(new selion::worker_pool(selion::worker_pool_options{
              .workers = workers,
              .kind = selion::worker_kind::process,
              .memory_bytes = 1 << 16,
              .shared_bytes = shared_bytes,
              .depth = depth,
              .most_waiting = std::numeric_limits<std::uint32_t>::max(),
              .spin = spin_s < 0 ? std::optional<std::chrono::nanoseconds>()
                                 : std::chrono::nanoseconds(static_cast<long>(spin_s * 1e9)),
              .program = std::move(command)})) {}

    std::uint32_t size() const { return pool_->size(); }

    std::uint64_t allocate(std::uint64_t bytes) {
        for (const std::uint64_t place : freed_->take()) {
            results_.erase(place);
            free(place);
        }
        return static_cast<std::uint64_t>(pool_->shared_array<std::byte>(bytes).data() - start());
    }
    void free(std::uint64_t place) { pool_->free_shared(std::span(start() + place, 1)); }

    /// @return where it lies in shared memory; -1: elsewhere.
    std::int64_t place_of(nb::handle source) const {
        const buffer bytes(source, buffer::use::read);
        const auto* const from = static_cast<const std::byte*>(bytes.data());
        const std::span<std::byte> all = pool_->shared_memory();
        if (from < all.data() || from + bytes.bytes() > all.data() + all.size()) return -1;
        return from - all.data();
    }
    /// The same of the user's arrays; -1 of results as well.
    std::int64_t place_of_array(nb::handle source) const {
        const std::int64_t place = place_of(source);
        const auto behind = results_.upper_bound(static_cast<std::uint64_t>(place));
        const bool is_in_result = place >= 0 && behind != results_.begin() &&
                                  static_cast<std::uint64_t>(place) < std::prev(behind)->second;
        return is_in_result ? -1 : place;
    }
    /// Copies it. @return its length.
    std::uint64_t write(std::uint64_t place, nb::handle source) {
        const buffer bytes(source, buffer::use::read);
        if (bytes.bytes() != 0) std::memcpy(start() + place, bytes.data(), bytes.bytes());
        return bytes.bytes();
    }
    nb::bytes read(std::uint64_t place, std::uint64_t bytes) const {
        return nb::bytes(start() + place, bytes);
    }
    /// An array of a block's bytes; the block is free when nobody has it any more.
    bytes_array own(std::uint64_t place, std::uint64_t bytes, std::uint32_t use) {
        if (use >= uses) throw selion::error(selion::status::bad_argument, "no such use");
        auto* const keeps = new array_owner{pool_->shared_life(), freed_, place, bytes,
                                            static_cast<block_use>(use)};
        freed_->had[use] += bytes;
        if (use == results) results_[place] = place + bytes;
        const nb::capsule owner(keeps, [](void* own) noexcept {
            auto* const done = static_cast<array_owner*>(own);
            done->freed->had[done->use] -= done->bytes;
            done->freed->add(done->place);
            delete done;
        });
        return bytes_array(start() + place, {bytes}, owner);
    }
    /// Bytes of the arrays for some use that somebody has.
    std::uint64_t had(std::uint32_t use) const { return freed_->had.at(use); }

    /// @param started gets the call as its attribute `_started`, before Python looks for signals:
    /// an exception of these would let go of it, and wait for it.
    void start_call(std::uint64_t place, nb::object started) {
        started.attr("_started") = send({}, place, {});
    }
    /// Has the worker of a call put a part of what it keeps in a place.
    /// @param part ticket, first byte, and number of bytes.
    /// @param from gets this call as its attribute `_started` likewise, and `fetched` as
    /// `_fetched`.
    void fetch(std::uint64_t place,
               const std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>& part, nb::object from,
               nb::object fetched) {
        const auto& [ticket, first, bytes] = part;
        const std::uint32_t worker = nb::cast<const pool_call&>(from.attr("_started")).worker();
        from.attr("_started") = send({.worker = worker}, place, {ticket, first, bytes});
        from.attr("_fetched") = fetched;
    }
    /// @pre each call is let go of when it is done: before anybody waits for another one.
    void limit_calls(std::uint64_t most) { selion::detail::limit_calls(*pool_, most); }
    void progress() { pool_->progress(); }
    void kill_workers() { pool_->kill_workers(); }
    /// May overlap with a call's `wait`, which ends.
    void want_turn() { pool_->want_turn(); }
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> counts() const {
        const selion::pool_counts told = pool_->counts();
        return {told.calls, told.failed, told.replaced};
    }

private:
    std::byte* start() const { return pool_->shared_memory().data(); }
    pool_call send(const selion::call_options& options, std::uint64_t place,
                   const kept_part& part) {
        const nb::gil_scoped_release others;
        return pool_call(
            pool_->call(options, python_call, selion::in_out(pool_->shared_memory()), place, part));
    }

    unlocked<selion::worker_pool> pool_;
    std::shared_ptr<garbage> freed_ = std::make_shared<garbage>();
    std::map<std::uint64_t, std::uint64_t> results_;  ///< blocks that are: first byte, and end
};

std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> reply_of(const pool_call& which) {
    const reply answer = which.get();
    return {answer.status, answer.bytes, answer.ticket};
}

/// @return whether this process was started as a worker, and has served.
bool serve(nb::object function) {
    handler() = std::move(function);
    const nb::gil_scoped_release others;
    return selion::serve_as_worker();
}

selion::call_pattern pattern_of(const std::string& word) {
    if (word == "plain") return selion::call_pattern::plain;
    if (word == "pipelined") return selion::call_pattern::pipelined;
    if (word == "overlapped") return selion::call_pattern::overlapped;
    throw selion::error(selion::status::bad_argument,
                        "pattern is '" + word + "'; legal: plain, pipelined, overlapped");
}

selion::offload_work work_of(double in_s, double out_s, double compute_s, bool is_same_for_all) {
    return {selion::model_time(in_s), selion::model_time(out_s), selion::model_time(compute_s),
            is_same_for_all};
}

using prediction_parts =
    std::tuple<double, double, double, bool, std::uint32_t, std::uint32_t, std::vector<double>>;

prediction_parts predict(double in_s, double out_s, double compute_s, std::uint32_t workers,
                         const std::string& pattern, bool is_same_for_all, std::uint32_t most) {
    const selion::offload_prediction found =
        selion::predict_offload(work_of(in_s, out_s, compute_s, is_same_for_all),
                                {.workers = workers, .pattern = pattern_of(pattern)}, most);
    return {found.total.count(), found.speedup,      found.transfer_share, found.is_saturated,
            found.saturates_at,  found.best_workers, found.speedups};
}

std::string verdict(double in_s, double out_s, double compute_s, std::uint32_t workers,
                    const std::string& pattern, bool is_same_for_all, std::uint32_t most,
                    std::uint32_t block) {
    return selion::offload_verdict(work_of(in_s, out_s, compute_s, is_same_for_all),
                                   {.workers = workers, .pattern = pattern_of(pattern)}, most,
                                   block);
}

}  // namespace

void add_workers(nb::module_& module) {
    module.def("predict_offload", &predict, nb::arg("send"), nb::arg("fetch"), nb::arg("compute"),
               nb::arg("workers"), nb::arg("pattern"), nb::arg("same_for_all"), nb::arg("most"),
               "Parts of a prediction: `selion.offload.predict` gives them names.");
    module.def("offload_verdict", &verdict, nb::arg("send"), nb::arg("fetch"), nb::arg("compute"),
               nb::arg("workers"), nb::arg("pattern"), nb::arg("same_for_all"), nb::arg("most"),
               nb::arg("block"), "A prediction in a sentence.");
    documented<pool_call>(module, "PoolCall")
        .def("wait", &pool_call::wait_for, nb::arg("seconds"), nb::arg("looks"),
             nb::arg("is_shared"), unlock())
        .def("reply", &reply_of, unlock())
        .def("is_done", &pool_call::is_done, unlock())
        .def("cancel", &pool_call::cancel, unlock())
        .def_prop_ro("worker", &pool_call::worker)
        .def_prop_ro("has_worker", &pool_call::has_worker);
    documented<process_pool>(module, "ProcessPool")
        .def(nb::init<std::uint32_t, std::vector<std::string>, std::uint64_t, std::uint32_t,
                      double>(),
             nb::arg("workers"), nb::arg("command"), nb::arg("shared_bytes"), nb::arg("depth"),
             nb::arg("spin"), unlock())
        .def_prop_ro("size", &process_pool::size)
        .def_prop_ro("counts", &process_pool::counts)
        .def("allocate", &process_pool::allocate, nb::arg("bytes"))
        .def("free", &process_pool::free, nb::arg("place"))
        .def("place_of", &process_pool::place_of, nb::arg("source"))
        .def("place_of_array", &process_pool::place_of_array, nb::arg("source"))
        .def("write", &process_pool::write, nb::arg("place"), nb::arg("source"))
        .def("read", &process_pool::read, nb::arg("place"), nb::arg("bytes"))
        .def("own", &process_pool::own, nb::arg("place"), nb::arg("bytes"), nb::arg("use") = 0)
        .def("had", &process_pool::had, nb::arg("use"))
        .def("call", &process_pool::start_call, nb::arg("place"), nb::arg("started"))
        .def("fetch", &process_pool::fetch, nb::arg("place"), nb::arg("part"), nb::arg("started"),
             nb::arg("fetched"))
        .def("limit_calls", &process_pool::limit_calls, nb::arg("most"))
        .def("progress", &process_pool::progress, unlock())
        .def("want_turn", &process_pool::want_turn)
        .def("kill_workers", &process_pool::kill_workers, unlock());
    module.def("serve_worker", &serve, nb::arg("handler"),
               "In a process that was started as a worker: hands each message to `handler` until "
               "its pool ends. False, at once, in any other process.");
}

}  // namespace bindings
