// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

#include <selion/cached.hpp>
#include <selion/counter.hpp>
#include <selion/detail/block_view.hpp>
#include <selion/detail/export.hpp>

/// What accesses to coherent memory call when they do not hit inline. Bytes lie in one rank's
/// memory; those of several blocks are several accesses.
namespace selion::detail {

SELION_API void read_coherent(block_view& view, std::uint64_t bits, void* into, std::size_t bytes,
                              std::source_location site);
SELION_API void write_coherent(block_view& view, std::uint64_t bits, const void* from,
                               std::size_t bytes, std::source_location site);
/// Calls `change` with the bytes, which nobody else reads or writes meanwhile.
/// @pre they lie in one block.
SELION_API void change_coherent(block_view& view, std::uint64_t bits, std::size_t bytes,
                                void (*change)(std::byte* bytes, void* argument), void* argument,
                                std::source_location site);
/// Ends the job: others have copies that a change would not reach at once.
[[noreturn]] SELION_API void end_for_change(std::source_location site);
/// Ends the job where an exception is caught: whoever waits may not be whom it would reach.
[[noreturn]] SELION_API void end_for_thrown_change(std::source_location site);
/// Start. @return how often `done` will count, once for each block that is waited for.
SELION_API std::uint64_t start_read_coherent(block_view& view, std::uint64_t bits, void* into,
                                             std::size_t bytes, counter& done,
                                             std::source_location site);
SELION_API std::uint64_t start_write_coherent(block_view& view, std::uint64_t bits,
                                              const void* from, std::size_t bytes, counter& done,
                                              std::source_location site);
/// The same of a value that the caller need not keep.
SELION_API std::uint64_t start_copied_write_coherent(block_view& view, std::uint64_t bits,
                                                     const void* from, std::size_t bytes,
                                                     counter& done, std::source_location site);
/// Brings copies of the blocks, some time.
SELION_API void hint_coherent(block_view& view, std::uint64_t bits, std::size_t bytes,
                              std::source_location site);

/// Ends the job if there is none, or none any more.
SELION_API void expect_space(const block_view* view, std::source_location site);
/// Ends the job if bytes do not lie in it.
SELION_API void expect_in_space(const block_view* view, std::uint64_t bits, std::size_t bytes,
                                std::source_location site);
SELION_API void flush_copies(block_view* view, std::source_location site);
SELION_API void drop_copies(block_view* view, std::source_location site);

SELION_API const cached& how_of(const block_view& view);
SELION_API access_counts count_accesses(const block_view& view);
SELION_API access_counts count_accesses_of_array(const block_view& view, std::uint64_t offset);
SELION_API std::vector<access_line> count_by_line(const block_view& view);
SELION_API std::vector<false_sharing> list_false_sharing(const block_view& view, std::size_t most);
SELION_API cache_counts count_blocks(const block_view& view);

}  // namespace selion::detail
