// SPDX-License-Identifier: Apache-2.0
#include "selion/detail/slow_path.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "meters/record/recorder.hpp"
#include "onesided/deaths.hpp"
#include "onesided/far_call.hpp"
#include "onesided/operation_meter.hpp"
#include "onesided/release_observers.hpp"
#include "onesided/waiting.hpp"
#include "selion/addresses.hpp"
#include "selion/charge.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"
#include "selion/signal.hpp"

namespace selion::detail {
namespace {

/// What is wrong with an address that does not lie in a symmetric heap.
std::string sentence_of_no_place(std::uint64_t bits, std::uint32_t ranks) {
    if (bits == null_address) return "the global pointer is null";
    if (segment_of(bits) == segment_of(null_address)) {
        return fmt::format(
            "the global pointer is reckoned from a null one, by an index or `on` "
            "(rank {}, offset {})",
            rank_of(bits), bits & offset_mask);
    }
    return fmt::format(
        "the global pointer names no rank of the job, as if `on` had been given a "
        "negative one, or null a negative index (rank {}, segment {}); ranks are "
        "0 to {}",
        rank_of(bits), segment_of(bits), ranks - 1);
}

}  // namespace

void end_for_stray_thread(std::source_location site) {
    if (machine::is_copy_of_job()) {
        end_job_for_bug(
            "this process is a copy (fork) of a rank's and belongs to no rank: it may start "
            "another program (exec) or leave (_exit), and must not call Selion",
            site);
    }
    end_job_for_bug(
        "this thread belongs to no rank: call Selion from the function that was given to "
        "selion::run, or make a selion::rank_scope in the thread first",
        site);
}

void expect_range(std::uint64_t target, [[maybe_unused]] std::size_t bytes,
                  [[maybe_unused]] std::size_t alignment, std::source_location site,
                  [[maybe_unused]] access_purpose purpose) {
    const rank_context& context = context_of_caller(site);
    [[maybe_unused]] const auto rank = rank_of(target);
    [[maybe_unused]] const std::uint64_t offset = target & offset_mask;
    // At every check level: a transport would take it for a place of some rank.
    if (segment_of(target) != heap_segment) [[unlikely]] {
        end_job_for_bug(sentence_of_no_place(target, context.ranks), site);
    }
    SELION_EXPECT_AT(rank < context.ranks, site,
                     fmt::format("the global pointer names rank {}; ranks are 0 to {}", rank,
                                 context.ranks - 1));
    SELION_EXPECT_AT(bytes <= context.reserve_bytes && offset <= context.reserve_bytes - bytes,
                     site,
                     fmt::format("{} bytes at offset {} of rank {} leave the symmetric heap, which "
                                 "ends at {}",
                                 bytes, offset, rank, context.reserve_bytes));
    SELION_EXPECT_AT(offset % alignment == 0, site,
                     fmt::format("offset {} of rank {} is not a multiple of {}, the alignment of "
                                 "the element",
                                 offset, rank, alignment));
    if constexpr (SELION_CHECK_LEVEL >= 2) {
        rank_context& caller = *current_context;
        const bool is_kept =
            caller.messages != nullptr && caller.messages->check_uncached != nullptr;
        if (is_kept) caller.messages->check_uncached(caller, target, bytes, purpose, site);
    }
}

void put_slow(std::uint64_t target, const void* source, std::size_t bytes,
              std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(target, bytes, 1, site, access_purpose::write);
    if (onesided::leaves_out(context, rank_of(target), "put", bytes)) return;
    const operation_meter meter(context, "put", bytes, site, rank_of(target));
    if (std::byte* address = mapped_address(context, target)) {
        machine::announce_local_write(context, address, bytes);
        std::memcpy(address, source, bytes);
    } else {
        const machine::call_scope scope(context, machine::operation::put, site);
        context.transport->put(context, {target, source, bytes});
    }
}

namespace {

template <class Word>
void store_words(std::byte* to, const void* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Word value;
        std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof(Word), sizeof(Word));
        // relaxed: later synchronisation orders it; others see it whole
        std::atomic_ref(reinterpret_cast<Word*>(to)[i]).store(value, std::memory_order_relaxed);
    }
}

void store_elements(std::byte* to, const void* from, std::size_t count, std::size_t width) {
    switch (width) {
        case 1: return store_words<std::uint8_t>(to, from, count);
        case 2: return store_words<std::uint16_t>(to, from, count);
        case 4: return store_words<std::uint32_t>(to, from, count);
        default: return store_words<std::uint64_t>(to, from, count);
    }
}

}  // namespace

void put_elements_slow(std::uint64_t target, const void* source, std::size_t count,
                       std::size_t element_bytes, std::source_location site) {
    rank_context& context = context_of_caller(site);
    const std::size_t bytes = count * element_bytes;
    expect_range(target, bytes, 1, site, access_purpose::write);
    if (onesided::leaves_out(context, rank_of(target), "put", bytes)) return;
    const operation_meter meter(context, "put", bytes, site, rank_of(target));
    if (std::byte* address = mapped_address(context, target)) {
        machine::announce_local_write(context, address, bytes);
        store_elements(address, source, count, element_bytes);
    } else {
        const machine::call_scope scope(context, machine::operation::put, site);
        context.transport->put(context, {.target = target,
                                         .source = source,
                                         .bytes = bytes,
                                         .store_bytes = static_cast<std::uint8_t>(element_bytes)});
    }
}

void get_slow(void* target, std::uint64_t source, std::size_t bytes, std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(source, bytes, 1, site);
    if (onesided::leaves_out(context, rank_of(source), "get", bytes)) return;
    const operation_meter meter(context, "get", bytes, site, rank_of(source));
    if (const std::byte* address = mapped_address(context, source)) {
        machine::announce_local_read(context, address, bytes);
        std::memcpy(target, address, bytes);
    } else {
        expect_may_reach(context, "get", rank_of(source), site);
        const machine::call_scope scope(context, machine::operation::get, site);
        context.transport->get(context, target, source, bytes);
    }
}

namespace {

/// What the program calls an atomic whose value it wants.
std::string_view called(atomic_operation operation) {
    switch (operation) {
        case atomic_operation::load: return "atomic_get";
        case atomic_operation::store: return "atomic_put";
        case atomic_operation::swap: return "swap";
        case atomic_operation::compare_swap: return "compare_swap";
        case atomic_operation::add: return "fetch_add";
        case atomic_operation::bit_or: return "fetch_or";
        case atomic_operation::bit_and: return "fetch_and";
        case atomic_operation::bit_xor: return "fetch_xor";
        case atomic_operation::min: return "fetch_min";
        case atomic_operation::max: return "fetch_max";
    }
    return "atomic";
}

}  // namespace

std::uint64_t atomic_slow(const atomic_request& request, std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(request.target, request.width, request.width, site, purpose_of(request.operation));
    if (onesided::leaves_out(context, rank_of(request.target), "atomic", request.width)) return 0;
    const operation_meter meter(context, "atomic", request.width, site, rank_of(request.target));
    const bool is_far = mapped_address(context, request.target) == nullptr;
    if (request.fetches && is_far) {
        expect_may_reach(context, called(request.operation), rank_of(request.target), site);
    }
    const onesided::far_call far(context, machine::operation::atomic, is_far, site);
    return context.transport->atomic(context, request);
}

void signal_slow(std::uint64_t signal, signal_update update, std::source_location site) {
    put_signal_slow(
        {.target = signal, .source = nullptr, .bytes = 0, .signal = signal, .update = update},
        site);
}

void expect_slot(std::size_t slot, std::size_t slots, std::source_location site) {
    SELION_EXPECT_AT(slot < slots, site,
                     slots == 0
                         ? std::string("the directory has no slots")
                         : fmt::format("the directory has no slot {}; a rank's slots are 0 to {}",
                                       slot, slots - 1));
}

void expect_one_rank(std::uint64_t data, std::uint64_t signal, std::source_location site) {
    SELION_EXPECT_AT((data ^ signal) >> offset_bits == 0, site,
                     fmt::format("put_signal: the data go to rank {}, the signal to rank {}; both "
                                 "must belong to one rank",
                                 rank_of(data), rank_of(signal)));
}

void put_signal_slow(const put_request& request, std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(request.target, request.bytes, 1, site, access_purpose::write);
    expect_range(request.signal, sizeof(shared_word), alignof(shared_word), site);
    expect_one_rank(request.target, request.signal, site);
    if (onesided::leaves_out(context, rank_of(request.target), "put_signal", request.bytes)) return;
    const operation_meter meter(context, "put_signal", request.bytes, site,
                                rank_of(request.target));
    release_writes(context, site);
    const bool is_far = mapped_address(context, request.signal) == nullptr;
    const onesided::far_call far(context, machine::operation::put_signal, is_far, site);
    context.transport->put(context, request);
}

void quiet_slow(std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_may_wait(context, "quiet", site);
    const operation_meter meter(context, "quiet", 0, site);
    release_writes(context, site);
    const onesided::far_call far(context, machine::operation::quiet, !context.words_mapped, site);
    context.transport->quiet(context);
    onesided::expect_acknowledged(context, "quiet");
}

void quiet_target_slow(std::uint32_t target, std::source_location site) {
    rank_context& context = context_of_caller(site);
    SELION_EXPECT_AT(
        target < context.ranks, site,
        fmt::format("quiet: there is no rank {}; ranks are 0 to {}", target, context.ranks - 1));
    expect_may_wait(context, "quiet", site);
    if (onesided::leaves_out(context, target, "quiet")) return;
    const operation_meter meter(context, "quiet", 0, site, target);
    release_writes(context, site);
    const onesided::far_call far(context, machine::operation::quiet, !context.words_mapped, site);
    context.transport->quiet(context, target);
    onesided::leaves_out(context, target, "quiet");
}

void charge_slow(const work& amount) {
    rank_context& context = *current_context;
    context.clock->charge(context, amount);
}

void wake_sleepers(rank_context& context, shared_word& word) { context.clock->wake(context, word); }

void wake_owner(rank_context& context, shared_word& word, std::uint32_t owner) {
    context.clock->wake_owner(context, word, owner);
}

}  // namespace selion::detail
