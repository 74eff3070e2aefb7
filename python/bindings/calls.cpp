// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <selion/detail/owed_value.hpp>
#include <selion/detail/script_exception.hpp>
#include <selion/future.hpp>
#include <selion/message.hpp>
#include <selion/rpc.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "calling_apart.hpp"
#include "global_array.hpp"
#include "module.hpp"
#include "under_way.hpp"

/// Messages that `selion.calls` writes and reads: requests to call a function, and answers.
namespace bindings {

namespace {

enum class kind : std::uint32_t { wanted, unwanted, returned, raised };  // as in selion.calls

/// What goes before the bytes. Long ones go in several messages, which come in order.
struct head {
    std::uint64_t number;  ///< of the call, at who made it
    std::uint64_t total;   ///< bytes of all messages of this call together
    std::uint32_t kind;
};

/// An answer that has not come yet. A death of the rank that owes it ends it in an error.
class promise : public under_way {
public:
    promise(std::uint64_t number, std::uint32_t target);
    ~promise() override;

    bool is_over() const override { return done_.is_ready(); }
    /// By the rank that waits. Does nothing if a death has ended it.
    void fulfil(kind what, nb::object answer) {
        if (!selion::detail::settle_value(target_, state_)) return;
        what_ = what;
        answer_ = std::move(answer);
        selion::detail::fulfil(state_);
    }
    std::pair<std::uint32_t, nb::object> answer() const {
        return {static_cast<std::uint32_t>(what_), answer_};
    }
    void drop_answer() { answer_ = nb::none(); }

private:
    bool wait(std::optional<std::chrono::nanoseconds> time) override {
        if (time && !done_.wait(*time)) return false;
        if (!time) done_.wait();
        if (state_.trouble) std::rethrow_exception(state_.trouble);
        return true;
    }
    bool has_memory_of_others() const override { return false; }

    std::pair<std::uint32_t, std::uint32_t> place_ = caller();
    std::uint64_t number_;  ///< of the call
    std::uint32_t target_;
    selion::detail::future_state& state_;
    selion::future<> done_;
    kind what_ = kind::returned;
    nb::object answer_ = nb::none();
};

/// What has come of a long message.
struct parts {
    nb::object bytes;
    std::uint64_t filled = 0;
};

/// What one rank waits for. In a simulation a process has several ranks.
struct mail {
    std::map<std::uint64_t, promise*> waiting;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, parts> begun;
    std::uint32_t deaths = 0;  ///< since when `begun` has been cleared of what the dead had begun
};

/// By job and rank. @pre the GIL is held
std::map<std::pair<std::uint32_t, std::uint32_t>, mail>& all_mail() {
    static auto* const all = new std::map<std::pair<std::uint32_t, std::uint32_t>, mail>;
    return *all;  // outlives the interpreter
}

promise::promise(std::uint64_t number, std::uint32_t target)
    : number_(number),
      target_(target),
      state_(selion::detail::make_state(0, std::source_location::current())),
      done_(state_) {
    all_mail()[place_].waiting.emplace(number, this);
    selion::detail::expect_value(target, state_);
}

promise::~promise() {
    const auto found = all_mail().find(place_);
    if (found != all_mail().end()) found->second.waiting.erase(number_);
}

nb::object bytes_of(const std::byte* data, std::size_t bytes) {
    nb::object made = nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data),
                                                          static_cast<Py_ssize_t>(bytes)));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

/// Of long messages whose rest will never come: their origin has died.
void forget_lost(mail& own) {
    if (selion::detail::count_of_deaths() == own.deaths) return;
    own.deaths = selion::detail::count_of_deaths();
    std::erase_if(own.begun, [](const auto& each) {
        return selion::detail::is_dead(std::get<0>(each.first));
    });
}

/// The whole message; null while more of it is to come.
nb::object joined(mail& own, const head& came, const selion::message_info& about) {
    const std::span<const std::byte> piece = about.data;
    forget_lost(own);
    if (piece.size() >= came.total) return bytes_of(piece.data(), piece.size());
    const auto place = own.begun.try_emplace({about.origin, came.kind, came.number}).first;
    parts& all = place->second;
    if (!all.bytes.is_valid()) all.bytes = bytes_of(nullptr, came.total);
    std::memcpy(PyBytes_AS_STRING(all.bytes.ptr()) + all.filled, piece.data(), piece.size());
    all.filled += piece.size();
    if (all.filled < came.total) return {};
    nb::object whole = std::move(all.bytes);
    own.begun.erase(place);
    return whole;
}

/// A function of selion.calls.
nb::object of_calls(const char* name) { return nb::module_::import_("selion.calls").attr(name); }

/// selion.calls.take, which each call goes through.
const nb::object& taker() {
    static const auto* const own = new nb::object(of_calls("take"));  // outlives the interpreter
    return *own;
}

/// Handlers of signals that raise meanwhile only make it take longer.
/// @return whether the job is to end
bool give_up(const head& came, std::uint32_t origin, const nb::object& message,
             const nb::python_error& trouble, const calling_apart& apart) {
    constexpr int most_interruptions = 100;
    for (int i = 0;; ++i) {
        try {
            return nb::cast<bool>(
                of_calls("give_up")(came.kind, origin, came.number, message, trouble.value()));
        } catch (const nb::python_error& again) {
            if (i == most_interruptions) throw;
            apart.keep(again);
        }
    }
}

/// @param taker of selion.calls
void take_call(const nb::object& taker, const head& came, std::uint32_t origin,
               const nb::object& message) {
    const calling_apart apart;
    try {
        taker(came.kind, origin, came.number, message);
    } catch (const nb::python_error& trouble) {
        if (give_up(came, origin, message, trouble, apart)) throw;
        apart.keep(trouble);
    }
}

/// As an exception of C++, which ends the job.
[[noreturn]] void throw_in_words(const nb::python_error& trouble) {
    throw selion::detail::script_exception(
        nb::cast<std::string>(of_calls("words_of")(trouble.value())));
}

/// Answers are taken without a step of Python's, between which it runs handlers of signals: what
/// those raise would be raised here, and the answer be lost.
void deliver(const head& came, const selion::message_info& about) {
    const nb::gil_scoped_acquire python;
    try {
        mail& own = all_mail()[caller()];
        nb::object message = joined(own, came, about);
        if (!message.is_valid()) return;
        const auto what = static_cast<kind>(came.kind);
        if (what == kind::wanted || what == kind::unwanted) {
            return take_call(taker(), came, about.origin, message);
        }
        const auto found = own.waiting.find(came.number);
        if (found == own.waiting.end()) return;  // who asked has been interrupted
        promise& answered = *found->second;
        own.waiting.erase(found);
        answered.fulfil(what, std::move(message));
    } catch (const nb::python_error& trouble) {
        throw_in_words(trouble);
    }
}

selion::arrival receive(const head& came, selion::message_info about) {
    try {
        deliver(came, about);
    } catch (...) {
        // Of a function whose caller waits for no answer: the job ends with a sentence.
        selion::detail::reply_with_exception(about.origin, 0);
    }
    return {};
}

/// While this lives the calling thread is in a handler.
class as_handler {
public:
    as_handler()
        : was_in_(std::exchange(own().in_handler, true)),
          counted_alone_(std::exchange(own().counts_alone, false)),
          plain_(std::exchange(own().plain_caller, &selion::detail::no_plain_caller)) {}
    ~as_handler() {
        own().in_handler = was_in_;
        own().counts_alone = counted_alone_;
        own().plain_caller = plain_;
    }
    as_handler(const as_handler&) = delete;
    as_handler& operator=(const as_handler&) = delete;

private:
    static selion::detail::thread_state& own() { return selion::detail::current_context->own; }

    bool was_in_;
    bool counted_alone_;
    const void* plain_;
};

void take_early_call(std::uint32_t kind, std::uint32_t origin, std::uint64_t number,
                     const nb::object& message) {
    try {
        const as_handler here;
        take_call(of_calls("run_early"), {number, 0, kind}, origin, message);
    } catch (const nb::python_error& trouble) {
        try {
            throw_in_words(trouble);
        } catch (...) {
            const nb::gil_scoped_release free;
            selion::detail::reply_with_exception(origin, 0);
        }
    }
}

/// The rank of that number. Raises IndexError.
std::uint32_t target_of(std::int64_t rank) {
    expect_rank();
    const std::uint32_t ranks = selion::detail::current_context->ranks;
    if (rank >= 0 && rank < std::int64_t{ranks}) return static_cast<std::uint32_t>(rank);
    raise_index("The rank is " + std::to_string(rank) + "; legal: 0 to " +
                std::to_string(ranks - 1) + ".");
}

/// Sends a message to its end: between its pieces no handler of a signal runs, whose exception
/// would leave the target with a part of it.
void send_message(std::int64_t rank, std::uint32_t kind, std::uint64_t number, nb::handle bytes) {
    constexpr std::size_t most_piece_bytes = std::size_t{1} << 20;
    const std::uint32_t target = target_of(rank);
    note_place();
    const buffer data(bytes, buffer::use::read);
    std::span<const std::byte> rest(data.data(), data.bytes());
    const head going{number, rest.size(), kind};
    const nb::gil_scoped_release free;
    const std::size_t most = std::min(most_piece_bytes, selion::detail::most_message_bytes());
    do {
        const std::size_t piece = std::min(most, rest.size());
        selion::send(target, &receive, going, rest.first(piece));
        rest = rest.subspan(piece);
    } while (!rest.empty());
}

/// @param number of the call. @param rank that is to answer
started make_promise(std::uint64_t number, std::int64_t rank) {
    return started(std::make_unique<promise>(number, target_of(rank)));
}

/// Nobody waits for it any more.
void cancel(std::uint64_t number) {
    const auto found = all_mail().find(caller());
    if (found == all_mail().end()) return;
    const auto awaited = found->second.waiting.extract(number);
    if (awaited) awaited.mapped()->fulfil(kind::returned, nb::none());
}

std::pair<std::uint32_t, nb::object> answer_of(const started& which) {
    return which.as<promise>().answer();
}

void drop_answer(const started& which) { which.as<promise>().drop_answer(); }

void forget_mail(std::uint32_t but) {
    std::erase_if(all_mail(), [but](const auto& each) { return each.first.first != but; });
}

bool progress(const selion::world& all) {
    expect_may_wait("progress");
    expect_member(all);
    const place_of_start place;
    const nb::gil_scoped_release free;
    return selion::progress();
}

}  // namespace

void add_calls(nb::module_& module, documented<selion::world, selion::team>& world) {
    module.def("send_message", &send_message, nb::arg("rank"), nb::arg("kind"), nb::arg("number"),
               nb::arg("bytes"), "Sends bytes to selion.calls on another rank.");
    module.def("take_early_call", &take_early_call, nb::arg("kind"), nb::arg("origin"),
               nb::arg("number"), nb::arg("message"),
               "Runs a call that came before the rank had begun, as those that come later.");
    module.def("make_promise", &make_promise, nb::arg("number"), nb::arg("rank"),
               "The answer to the call of that number, which is to be made.");
    module.def("cancel", &cancel, nb::arg("number"),
               "Nobody waits for that answer any more, whether it has come or not.");
    module.def("answer_of", &answer_of, nb::arg("promise"),
               "Kind and bytes of an answer that has come.");
    module.def("drop_answer", &drop_answer, nb::arg("promise"), "Nobody asks for it any more.");
    module.def("forget_mail", &forget_mail, nb::arg("but"), "All jobs are over, or all but one.");
    world.def("progress", &progress);
    const auto pass_on = [](const char* name) {
        return [name](nb::handle all, nb::handle rank, nb::handle function, const nb::args& args,
                      const nb::kwargs& named) {
            expect_member(nb::cast<const selion::world&>(all));
            return of_calls(name)(all, rank, function, args, named);
        };
    };
    world.def("call", pass_on("call")).def("send", pass_on("send"));
}

}  // namespace bindings
