// SPDX-License-Identifier: Apache-2.0
#include "selion/spc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "base/log.hpp"
#include "base/units.hpp"
#include "selion/error.hpp"

namespace selion::spc {
namespace {

using detail::entry;

constexpr const char* routine_name = "selion.spc";
constexpr std::uint64_t alignment = 16;

std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

std::string_view name_of(detail::element type) {
    constexpr std::array<std::string_view, 8> names{"i8",  "u8",  "i16", "u16",
                                                    "i32", "u32", "f32", "f64"};
    return names[static_cast<std::size_t>(type)];
}

std::size_t bytes_of(detail::element type) {
    constexpr std::array<std::size_t, 8> sizes{1, 1, 2, 2, 4, 4, 4, 8};
    return sizes[static_cast<std::size_t>(type)];
}

[[noreturn]] void refuse(const std::string& sentence) {
    throw error(status::bad_argument, sentence);
}

/// @error out_of_memory, with a sentence: data of users may be as long as they like.
void grow(std::vector<std::byte>& room, std::uint64_t bytes) {
    try {
        room.resize(bytes);
    } catch (const std::exception&) {
        throw error(status::out_of_memory,
                    fmt::format("an SPC call's arguments are {} long; this host has no room for "
                                "them: send them in parts",
                                base::bytes_text(bytes)));
    }
}

/// The list of arguments at the start of a call's block.
std::vector<entry> entries_of(std::span<const std::byte> in) {
    std::uint64_t count = 0;
    std::memcpy(&count, in.data(), sizeof count);
    std::vector<entry> entries(count);
    if (count != 0) std::memcpy(entries.data(), in.data() + sizeof count, count * sizeof(entry));
    return entries;
}

/// What the event loop's entry in the list of routines leads to.
struct served_calls {
    std::span<const SPC_CALL> calls;
    std::size_t argument_bytes;

    void run(std::uint32_t number, std::span<const std::byte> in, std::span<std::byte> out) const {
        if (number >= calls.size()) {
            refuse(fmt::format("there is no routine {}; the slave has {}, from 0 on", number,
                               calls.size()));
        }
        std::uint64_t bytes = 0;
        for (const entry& each : entries_of(in)) bytes += each.count * bytes_of(each.type);
        if (bytes > argument_bytes) {
            refuse(
                fmt::format("the call's arguments are {} bytes long; the slave's event loop "
                            "takes {}",
                            bytes, argument_bytes));
        }
        spc_arguments arguments(in, out);
        calls[number](arguments);
    }
};

constexpr std::array<selion::detail::routine_parameter, 3> parameters{
    selion::detail::parameter_of<std::uint32_t>(),
    selion::detail::parameter_of<std::span<const std::byte>>(),
    selion::detail::parameter_of<std::span<std::byte>>()};

void invoke(void (*function)(), selion::detail::routine_call_frame& frame) {
    const auto& served = *reinterpret_cast<const served_calls*>(function);
    const auto span_at = [&](std::size_t word) {
        return std::span(frame.memory + frame.words[word], frame.words[word + 1]);
    };
    served.run(static_cast<std::uint32_t>(frame.words[0]), span_at(1), span_at(3));
}

/// A list of arguments before their data.
std::vector<std::byte> pack(const std::vector<entry>& entries, std::span<const std::byte> data) {
    const std::uint64_t count = entries.size();
    const std::uint64_t start = aligned(sizeof count + count * sizeof(entry));
    std::vector<std::byte> block(start + data.size());
    std::memcpy(block.data(), &count, sizeof count);
    if (count != 0) std::memcpy(block.data() + sizeof count, entries.data(), count * sizeof(entry));
    std::ranges::copy(data, block.begin() + static_cast<std::ptrdiff_t>(start));
    return block;
}

}  // namespace

void spc_args::put(spc_direction direction, detail::element type, const void* data,
                   std::size_t count, std::size_t element_bytes) {
    const std::uint64_t bytes = selion::detail::array_bytes(count, element_bytes);
    entry made{type, direction, count, in_.size()};
    if (direction != SPC_OUT) {
        const std::size_t start = in_.size();
        grow(in_, start + aligned(bytes));
        if (bytes != 0) std::memcpy(in_.data() + start, data, bytes);
    }
    if (direction == SPC_OUT) made.place = out_bytes_;
    if (direction != SPC_IN) out_bytes_ += aligned(bytes);
    entries_.push_back(made);
}

spc_arguments::spc_arguments(std::span<const std::byte> in, std::span<std::byte> out)
    : out_(out), entries_(entries_of(in)) {
    in_ = in.subspan(aligned(sizeof(std::uint64_t) + entries_.size() * sizeof(entry)));
    // What goes both ways lies where it comes back from.
    std::uint64_t place = 0;
    for (entry& each : entries_) {
        if (each.direction == SPC_IN) continue;
        const std::uint64_t bytes = each.count * bytes_of(each.type);
        if (each.direction == SPC_INOUT && bytes != 0) {
            std::memcpy(out_.data() + place, in_.data() + each.place, bytes);
        }
        each.place = place;
        place += aligned(bytes);
    }
}

void* spc_arguments::next(detail::element type, bool is_vector) {
    if (at_ == entries_.size()) {
        refuse(fmt::format("the routine asks for argument {}; the call has {}", at_ + 1,
                           entries_.size()));
    }
    const entry& found = entries_[at_++];
    if (found.type == type && !is_vector && found.count != 1) {
        refuse(fmt::format("argument {} of the call is {} elements of {}, not one", at_,
                           found.count, name_of(type)));
    }
    if (found.type != type) {
        refuse(fmt::format("argument {} of the call is {} of {}, not {}", at_, found.count,
                           name_of(found.type), name_of(type)));
    }
    // Routines may use what goes in as room of their own, as on the boards.
    return found.direction == SPC_IN ? const_cast<std::byte*>(in_.data()) + found.place
                                     : out_.data() + found.place;
}

spc_server::spc_server(const std::string& program, std::uint64_t memory_bytes)
    : pool_(std::make_unique<worker_pool>(worker_pool_options{.workers = 1,
                                                              .kind = worker_kind::process,
                                                              .memory_bytes = memory_bytes,
                                                              .depth = 1,
                                                              .program = {program}})) {}

void spc_server::call(std::uint32_t routine, const spc_args& arguments) {
    if (!pool_) refuse("an SPC server that has been moved away is called: use where it went to");
    if (call_ && !is_done_) {
        refuse("an SPC server has one call at a time: wait for the one before");
    }
    call_.reset();
    is_done_ = false;
    read_ = 0;
    entries_ = arguments.entries_;
    in_ = pack(entries_, arguments.in_);
    grow(out_, arguments.out_bytes_);
    call_ = pool_->call(routine_name, routine, in_, out(out_));
}

void spc_server::wait() {
    if (!call_) refuse("an SPC server is waited for that has no call");
    is_done_ = true;
    call_->wait();
}

void spc_server::get(detail::element type, void* into, std::size_t count,
                     std::size_t element_bytes) {
    if (!is_done_) refuse("a result of an SPC call is read before the call has been waited for");
    static_cast<void>(call_->result());  // throws what the routine has thrown
    std::uint64_t place = 0;
    std::size_t seen = 0;
    for (const entry& each : entries_) {
        if (each.direction == SPC_IN) continue;
        if (seen++ == read_) {
            if (each.type != type || each.count != count) {
                refuse(fmt::format("result {} of the call is {} of {}, not {} of {}", read_ + 1,
                                   each.count, name_of(each.type), count, name_of(type)));
            }
            ++read_;
            if (count != 0) std::memcpy(into, out_.data() + place, count * element_bytes);
            return;
        }
        place += aligned(each.count * bytes_of(each.type));
    }
    refuse(fmt::format("the call brings {} results back, and all have been read", seen));
}

int SPC_EVENT_LOOP(std::span<const SPC_CALL> calls, std::size_t argument_bytes) {
    const served_calls served{calls, argument_bytes};
    selion::detail::routine_entry own{
        routine_name,
        parameters,
        {},
        invoke,
        reinterpret_cast<void (*)()>(const_cast<served_calls*>(&served)),
        nullptr};
    selion::detail::add_routine(own);
    const bool was_worker = serve_as_worker();
    selion::detail::remove_routine(own);
    if (was_worker) return 0;
    base::say("this program is a slave: a host starts it, as spc_server");
    return 1;
}

}  // namespace selion::spc
