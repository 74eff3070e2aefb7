// SPDX-License-Identifier: Apache-2.0
/// What programs call: accesses of any size, cut into those of single blocks.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/exception_text.hpp"
#include "coherence/coherent_parts.hpp"
#include "onesided/message_state.hpp"
#include "onesided/own_address.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/coherent_access.hpp"
#include "selion/expect.hpp"

namespace selion::detail {
namespace {

using coherence::access_kind;
using coherence::block_access;
using coherence::coherent_part;

std::uint32_t bytes_in_block(const block_view& view, std::uint64_t bits, std::size_t bytes) {
    const std::uint64_t block_bytes = std::uint64_t{1} << view.block_bits;
    const std::uint64_t left = block_bytes - (bits & (block_bytes - 1));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, bytes));
}

/// Starts an access of each block.
/// @param one the first byte, and what is common to all. @return how many they are.
std::uint64_t start_each(const block_view& view, block_access one, std::size_t bytes) {
    std::uint64_t started = 0;
    while (bytes != 0) {
        one.bytes = bytes_in_block(view, one.address, bytes);
        view.part->start(one);
        ++started;
        bytes -= one.bytes;
        one.address += one.bytes;
        if (one.data != nullptr) one.data += one.bytes;
    }
    return started;
}

void run(const block_view& view, block_access one, std::size_t bytes) {
    if (bytes == 0) return;
    if (view.holds(one.address, bytes)) {
        one.bytes = static_cast<std::uint32_t>(bytes);
        return view.part->access(one);
    }
    counter done;
    one.completion = &done;
    detail::wait_for_last(done, start_each(view, one, bytes), one.site);
}

block_access reading(std::uint64_t bits, void* into, std::source_location site) {
    block_access one;
    one.kind = access_kind::read;
    one.address = bits;
    one.data = static_cast<std::byte*>(into);
    one.site = site;
    return one;
}

block_access writing(std::uint64_t bits, const void* from, std::source_location site) {
    block_access one = reading(bits, const_cast<void*>(from), site);
    one.kind = access_kind::write;
    return one;
}

}  // namespace

void read_coherent(block_view& view, std::uint64_t bits, void* into, std::size_t bytes,
                   std::source_location site) {
    run(view, reading(bits, into, site), bytes);
}

void write_coherent(block_view& view, std::uint64_t bits, const void* from, std::size_t bytes,
                    std::source_location site) {
    run(view, writing(bits, from, site), bytes);
}

std::uint64_t start_read_coherent(block_view& view, std::uint64_t bits, void* into,
                                  std::size_t bytes, counter& done, std::source_location site) {
    block_access one = reading(bits, into, site);
    one.completion = &done;
    return start_each(view, one, bytes);
}

std::uint64_t start_write_coherent(block_view& view, std::uint64_t bits, const void* from,
                                   std::size_t bytes, counter& done, std::source_location site) {
    block_access one = writing(bits, from, site);
    one.completion = &done;
    return start_each(view, one, bytes);
}

std::uint64_t start_copied_write_coherent(block_view& view, std::uint64_t bits, const void* from,
                                          std::size_t bytes, counter& done,
                                          std::source_location site) {
    block_access one = writing(bits, from, site);
    if (!view.holds(bits, bytes) || bytes > coherent_part::most_copied) {
        run(view, one, bytes);
        return 0;
    }
    one.bytes = static_cast<std::uint32_t>(bytes);
    one.completion = &done;
    view.part->start_copied_write(one);
    return 1;
}

void hint_coherent(block_view& view, std::uint64_t bits, std::size_t bytes,
                   std::source_location site) {
    if (view.is_direct) return;
    block_access one = reading(bits, nullptr, site);
    one.kind = access_kind::touch;
    start_each(view, one, bytes);
}

void change_coherent(block_view& view, std::uint64_t bits, std::size_t bytes,
                     void (*change)(std::byte* bytes, void* argument), void* argument,
                     std::source_location site) {
    block_access one;
    one.kind = access_kind::change;
    one.address = bits;
    one.bytes = static_cast<std::uint32_t>(bytes);
    one.change = change;
    one.argument = argument;
    one.site = site;
    view.part->access(one);
}

void end_for_change(std::source_location site) {
    end_job_for_bug(
        "coherent memory whose writes are sent as updates is changed atomically, which would "
        "change this rank's copy alone: assign what has been read and computed, or use "
        "write_protocol::invalidate",
        site);
}

void end_for_thrown_change(std::source_location site) {
    end_job_for_bug(
        fmt::format("a function that changes an element of coherent memory has thrown "
                    "an exception of type {}: {}; it must not throw, because it may be "
                    "called while the rank serves messages",
                    base::type_name_of_current_exception(), base::text_of_current_exception()),
        site);
}

void expect_space([[maybe_unused]] const block_view* view, std::source_location site) {
    [[maybe_unused]] const rank_context& context = context_of_caller(site);
    SELION_EXPECT_AT(view != nullptr, site,
                     std::string("coherent memory is used that has not been made: the handle is "
                                 "empty"));
    // A handle of another rank is found out by what it leads to.
    [[maybe_unused]] const auto* const bytes = reinterpret_cast<const std::byte*>(view);
    SELION_EXPECT_AT(!own_address(context, bytes, sizeof *view) ||
                         (context.messages != nullptr && context.messages->coherent != nullptr &&
                          context.messages->coherent->has(view)),
                     site,
                     std::string("coherent memory is used after deallocate: the handle is of a "
                                 "space that has been given back"));
}

void expect_in_space(const block_view* view, std::uint64_t bits, std::size_t bytes,
                     std::source_location site) {
    expect_space(view, site);
    const std::uint32_t ranks = context_of_caller(site).ranks;
    const coherence::space_shape& shape = view->part->shape();
    const std::uint64_t offset = (bits & offset_mask) - shape.offset;
    [[maybe_unused]] const bool is_inside = segment_of(bits) == heap_segment &&
                                            rank_of(bits) < ranks && bytes <= shape.bytes &&
                                            offset <= shape.bytes - bytes;
    SELION_EXPECT_AT(is_inside, site,
                     fmt::format("{} bytes at offset {} of rank {} (segment {}) do not lie in this "
                                 "coherent space: it has offsets {} to {} of ranks 0 to {}",
                                 bytes, bits & offset_mask, rank_of(bits), segment_of(bits),
                                 shape.offset, shape.offset + shape.bytes - 1, ranks - 1));
}

void flush_copies(block_view* view, std::source_location site) {
    expect_space(view, site);
    view->part->flush(site);
}
void drop_copies(block_view* view, std::source_location site) {
    expect_space(view, site);
    view->part->drop_all(site);
}

const cached& how_of(const block_view& view) { return view.part->shape().how; }

access_counts count_accesses(const block_view& view) {
    const coherence::access_meter* const meter = view.part->meter();
    return meter == nullptr ? access_counts{} : meter->total();
}

access_counts count_accesses_of_array(const block_view& view, std::uint64_t offset) {
    const coherence::access_meter* const meter = view.part->meter();
    return meter == nullptr ? access_counts{} : meter->of_array(offset);
}

std::vector<access_line> count_by_line(const block_view& view) {
    const coherence::access_meter* const meter = view.part->meter();
    return meter == nullptr ? std::vector<access_line>{} : meter->lines();
}

std::vector<false_sharing> list_false_sharing(const block_view& view, std::size_t most) {
    const coherence::access_meter* const meter = view.part->meter();
    return meter == nullptr ? std::vector<false_sharing>{} : meter->worst_blocks(most);
}

cache_counts count_blocks(const block_view& view) { return view.part->counts(); }

}  // namespace selion::detail
