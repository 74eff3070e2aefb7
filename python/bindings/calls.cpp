// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <selion/detail/script_exception.hpp>
#include <selion/future.hpp>
#include <selion/message.hpp>
#include <selion/rpc.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "global_array.hpp"
#include "module.hpp"
#include "under_way.hpp"

/// Messages that `selion.calls` writes and reads: requests to call a function, and answers.
namespace bindings {

namespace {

/// What goes before the bytes. Long ones go in several messages, which come in order.
struct head {
    std::uint64_t number;  ///< of the call, at who made it
    std::uint64_t total;   ///< bytes of all messages of this call together
    std::uint32_t kind;
};

/// The function that gets all messages; see `set_receiver`.
nb::object& receiver() {
    static nb::object* const own = new nb::object();  // outlives the interpreter
    return *own;
}

void deliver(const head& came, selion::message_info about) {
    const nb::gil_scoped_acquire python;
    try {
        if (!receiver().is_valid()) receiver() = nb::module_::import_("selion.calls").attr("take");
        const nb::bytes data(about.data.data(), about.data.size());
        receiver()(came.kind, std::uint32_t{about.origin}, came.number, came.total, data);
    } catch (const nb::python_error& trouble) {
        const nb::object words = nb::module_::import_("selion.calls").attr("words_of");
        throw selion::detail::script_exception(nb::cast<std::string>(words(trouble.value())));
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

void send_message(std::int64_t rank, std::uint32_t kind, std::uint64_t number, std::uint64_t total,
                  nb::handle bytes) {
    expect_rank();
    if (rank < 0 || rank >= std::int64_t{selion::detail::current_context->ranks}) {
        raise_index("The rank is " + std::to_string(rank) + "; legal: 0 to " +
                    std::to_string(selion::detail::current_context->ranks - 1) + ".");
    }
    note_place();
    const buffer data(bytes, buffer::use::read);
    const head going{number, total, kind};
    const nb::gil_scoped_release free;
    selion::send(static_cast<std::uint32_t>(rank), &receive, going,
                 std::span<const std::byte>(data.data(), data.bytes()));
}

/// An answer that has not come yet.
class promise : public under_way {
public:
    promise()
        : state_(selion::detail::make_state(0, std::source_location::current())), done_(state_) {}

    bool is_over() const override { return done_.is_ready(); }
    /// Once, by the rank that waits.
    void fulfil() { selion::detail::fulfil(state_); }

private:
    bool wait(std::optional<std::chrono::nanoseconds> time) override {
        if (time) return done_.wait(*time);
        done_.wait();
        return true;
    }

    selion::detail::future_state& state_;
    selion::future<> done_;
};

started make_promise() {
    expect_rank();
    return started(std::make_unique<promise>());
}

void fulfil(const started& which) { which.as<promise>().fulfil(); }

bool progress(const selion::world& all) {
    expect_may_wait("progress");
    expect_member(all);
    const nb::gil_scoped_release free;
    return selion::progress();
}

}  // namespace

void add_calls(nb::module_& module, documented<selion::world, selion::team>& world) {
    module.def("send_message", &send_message, nb::arg("rank"), nb::arg("kind"), nb::arg("number"),
               nb::arg("total"), nb::arg("bytes"), "Sends bytes to selion.calls on another rank.");
    module.def("most_message_bytes", &selion::detail::most_message_bytes,
               "Bytes that one message may have.");
    module.def("make_promise", &make_promise, "An answer that somebody will have come.");
    module.def("fulfil", &fulfil, nb::arg("promise"), "It has come.");
    world.def("progress", &progress);
    const auto pass_on = [](const char* name) {
        return [name](nb::handle all, nb::handle rank, nb::handle function, const nb::args& args,
                      const nb::kwargs& named) {
            expect_member(nb::cast<const selion::world&>(all));
            return nb::module_::import_("selion.calls")
                .attr(name)(all, rank, function, args, named);
        };
    };
    world.def("call", pass_on("call")).def("send", pass_on("send"));
}

}  // namespace bindings
