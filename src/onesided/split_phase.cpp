// SPDX-License-Identifier: Apache-2.0
#include "selion/split_phase.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "machine/call_record.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/deaths.hpp"
#include "onesided/far_call.hpp"
#include "onesided/operation_meter.hpp"
#include "onesided/release_observers.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/expect.hpp"

namespace selion::detail {
namespace {

/// A target counter must be a counter of the rank that the data go to or come from.
void expect_target_counter(std::uint64_t signal, std::uint64_t data, std::source_location site) {
    if (signal == null_address) return;
    expect_range(signal, sizeof(counter), alignof(counter), site);
    SELION_EXPECT_AT(is_of_rank_of(signal, data), site,
                     fmt::format("the target counter belongs to rank {}, the data to rank {}; "
                                 "both must belong to one rank",
                                 rank_of(signal), rank_of(data)));
}

/// Checks a put or a get. @param there its place in the global address space.
template <class Request>
rank_context& context_for(const Request& request, std::uint64_t there, access_purpose purpose,
                          std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(there, request.bytes, 1, site, purpose);
    expect_target_counter(request.signal, there, site);
    if (request.origin != nullptr) claim_counter(context, *request.origin, site);
    if (request.completion != nullptr) claim_counter(context, *request.completion, site);
    return context;
}

/// Whether it is left out, because a handler has started it and the rank is dead.
template <class Request>
bool loses(rank_context& context, const Request& request, std::uint32_t rank,
           std::string_view what) {
    if (!onesided::leaves_out(context, rank, what, request.bytes)) return false;
    context.deaths->lose(rank, request.origin);
    context.deaths->lose(rank, request.completion);
    return true;
}

}  // namespace

void start_put(const put_request& request, std::source_location site) {
    rank_context& context = context_for(request, request.target, access_purpose::write, site);
    if (loses(context, request, rank_of(request.target), "put")) return;
    const operation_meter meter(context, "put", request.bytes, site, rank_of(request.target));
    if (request.signal != null_address) release_writes(context, site);
    std::byte* const address = mapped_address(context, request.target);
    if (address == nullptr || request.signal != null_address) {
        const onesided::far_call far(context, machine::operation::put, address == nullptr, site);
        return context.transport->put(context, request);
    }
    if (request.bytes != 0) {
        machine::announce_local_write(context, address, request.bytes);
        std::memcpy(address, request.source, request.bytes);
    }
    count_here(context, request.origin, site);
    count_here(context, request.completion, site);
}

void start_get(const get_request& request, std::source_location site) {
    rank_context& context = context_for(request, request.source, access_purpose::read, site);
    if (loses(context, request, rank_of(request.source), "get")) return;
    const operation_meter meter(context, "get", request.bytes, site, rank_of(request.source));
    const std::byte* const address = mapped_address(context, request.source);
    if (address == nullptr) {
        const machine::call_scope scope(context, machine::operation::get, site);
        return context.transport->start_get(context, request);
    }
    if (request.bytes != 0) {
        machine::announce_local_read(context, address, request.bytes);
        std::memcpy(request.target, address, request.bytes);
    }
    if (request.signal != null_address) {
        // A bare signal to the own rank, or to one whose memory this process maps.
        context.transport->put(context, {.target = request.signal,
                                         .source = nullptr,
                                         .bytes = 0,
                                         .signal = request.signal,
                                         .update = {1, true}});
    }
    count_here(context, request.origin, site);
    count_here(context, request.completion, site);
}

void start_atomic(const atomic_request& request, const atomic_answer& answer,
                  std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(request.target, request.width, request.width, site, purpose_of(request.operation));
    if (answer.completion != nullptr) claim_counter(context, *answer.completion, site);
    if (onesided::leaves_out(context, rank_of(request.target), "atomic", request.width)) {
        return context.deaths->lose(rank_of(request.target), answer.completion);
    }
    const operation_meter meter(context, "atomic", request.width, site, rank_of(request.target));
    const bool is_far = mapped_address(context, request.target) == nullptr;
    const onesided::far_call far(context, machine::operation::atomic, is_far, site);
    context.transport->start_atomic(context, request, answer);
}

void store_bytes(std::uint64_t target, const void* source, std::size_t bytes,
                 std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_range(target, bytes, 1, site, access_purpose::write);
    if (onesided::leaves_out(context, rank_of(target), "store", bytes)) return;
    const operation_meter meter(context, "store", bytes, site, rank_of(target));
    release_writes(context, site);
    const std::uint64_t received = (target & ~offset_mask) | context.store_offset;
    const bool is_far = mapped_address(context, target) == nullptr;
    const onesided::far_call far(context, machine::operation::store, is_far, site);
    context.transport->put(context, {.target = target,
                                     .source = source,
                                     .bytes = bytes,
                                     .signal = received,
                                     .update = {bytes, true}});
}

void store_sync(std::uint64_t bytes, std::source_location site) {
    const rank_context& context = context_of_caller(site);
    const std::uint64_t own = global_address(context.rank, context.store_offset);
    reinterpret_cast<counter*>(mapped_address(context, own))->wait(bytes, site);
}

}  // namespace selion::detail
