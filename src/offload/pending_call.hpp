// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>

#include "machine/machine.hpp"
#include "selion/detail/call_arguments.hpp"
#include "selion/detail/routine_parameter.hpp"
#include "selion/worker_pool.hpp"

namespace selion::detail {

inline constexpr std::uint32_t any_worker = ~std::uint32_t{0};

/// A call from its beginning until nobody asks for it any more. Used again for later calls.
struct pending_call final : call_writer {
    enum class phase : std::uint8_t {
        made,     ///< its arguments are being written
        waiting,  ///< for a worker
        sent,     ///< a worker has it
        ended,    ///< no worker has it any more
    };

    /// A span of the host's, or an array of the worker's.
    struct span_use {
        std::uint32_t word = 0;  ///< of the frame, where its place goes
        transfer way = transfer::in;
        bool is_array = false;
        bool is_allocated = false;  ///< its place is the call's own, in the worker's memory
        const void* data = nullptr;
        std::size_t bytes = 0;
        std::uint64_t offset = 0;  ///< in the worker's memory
        std::uint32_t generation = 0;
        std::span<const worker_range> replicas =
            {};  ///< of a replica: where it lies on each worker
    };
    struct reference_use {
        void* target = nullptr;
        std::size_t bytes = 0;
    };

    void value(const void* bytes, std::size_t count) override { add_words(bytes, count); }
    void reference(void* target, std::size_t bytes, bool is_sent) override {
        add_words(is_sent ? target : nullptr, bytes);
        references[reference_count++] = {target, bytes};
    }
    void span(const void* data, std::size_t count, std::size_t element_bytes,
              transfer way) override {
        add_span({.way = way, .data = data, .bytes = count * element_bytes}, count);
        if (way != transfer::in) has_output = true;
    }
    void array(const worker_range& range, std::size_t count) override {
        add_span({.is_array = true,
                  .bytes = range.bytes,
                  .offset = range.offset,
                  .generation = range.generation},
                 count);
        if (range.pool != pool) is_foreign = true;
        const bool is_elsewhere = wanted_worker != any_worker && wanted_worker != range.worker;
        if (is_elsewhere) mixed_worker = range.worker;
        wanted_worker = range.worker;
    }

    void replica(std::span<const worker_range> ranges, std::size_t count) override {
        if (ranges.front().pool != pool) is_foreign = true;
        add_span({.is_array = true, .bytes = ranges.front().bytes, .replicas = ranges}, count);
    }

    void reset() {
        is_kept = true;
        is_settled = is_awaited = has_output = is_foreign = is_cancelled = is_late = false;
        may_have_begun = false;
        now = phase::made;
        wanted_worker = mixed_worker = any_worker;
        worker = any_worker;
        turn = 0;
        sent_ps = 0;
        generation = 0;
        word_count = span_count = reference_count = result_words = 0;
        deadline_ns = machine::no_deadline;
        trouble = nullptr;
    }
    /// Something lies in the caller's own memory, to be read or to be written.
    bool uses_callers_memory() const {
        for (std::uint32_t i = 0; i < span_count; ++i) {
            if (!spans[i].is_array && spans[i].bytes != 0) return true;
        }
        return reference_count != 0;
    }
    /// Something comes back that the caller reads.
    bool has_results() const { return has_output || reference_count + result_words != 0; }

    bool is_kept = true;      ///< the caller has a handle
    bool is_settled = false;  ///< for the caller it is over
    bool is_awaited = false;  ///< the caller has been told so
    bool has_output = false;
    bool is_foreign = false;      ///< an argument is another pool's
    bool is_cancelled = false;    ///< the caller has given it up
    bool is_late = false;         ///< its time was over before it was made
    bool may_have_begun = false;  ///< it was asked back, in vain as far as its host knows
    const void* pool = nullptr;
    phase now = phase::made;
    std::uint32_t routine = 0;
    std::uint32_t wanted_worker = any_worker;
    std::uint32_t mixed_worker = any_worker;  ///< another one that an argument lies on
    std::uint32_t worker = any_worker;
    std::uint64_t turn = 0;
    /// Of the worker that has carried it out, while this call holds it; 0: it does not.
    std::uint32_t generation = 0;
    std::int64_t deadline_ns = machine::no_deadline;
    std::int64_t sent_ps = 0;  ///< when its worker, which had nothing to do, was sent it; 0: other
    std::exception_ptr trouble;
    std::uint32_t word_count = 0;
    std::uint32_t span_count = 0;
    std::uint32_t reference_count = 0;
    std::uint32_t result_words = 0;  ///< of what the routine returns
    const char* name = "";
    pending_call* next_free = nullptr;
    std::array<std::uint64_t, most_frame_words> words{};
    std::array<std::uint64_t, most_result_words> results{};
    std::array<reference_use, most_result_words> references{};
    std::array<span_use, most_frame_words / 2> spans{};

private:
    void add_words(const void* bytes, std::size_t count) {
        const std::size_t added = (count + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
        words[word_count + added - 1] = 0;
        if (bytes != nullptr) std::memcpy(&words[word_count], bytes, count);
        word_count += static_cast<std::uint32_t>(added);
    }
    void add_span(span_use use, std::size_t count) {
        use.word = word_count;
        spans[span_count++] = use;
        words[word_count++] = 0;
        words[word_count++] = count;
    }
};

/// Why a call has failed that was given up before a worker had begun it.
std::exception_ptr cancelled(const pending_call& call);
/// Why one has failed that took too long.
std::exception_ptr lateness(const pending_call& call);

}  // namespace selion::detail
