// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace selion {

/// When copies of remote blocks are kept, and the protocol runs that keeps them coherent.
enum class cache_protocol : std::uint8_t {
    /// Not where every rank's memory is mapped: there accesses are loads and stores, and ordered
    /// as gets and puts are, by barriers and signals.
    where_needed,
    always,  ///< also there: to study it, to count, or for its order
};

/// Which blocks a read that misses asks for besides its own, as far as there is room: no copy goes
/// for them that came so itself and has not been used. They come while the rank goes on.
enum class prefetch_kind : std::uint8_t {
    none,
    next,     ///< the blocks behind it
    strided,  ///< as far on as it is from the last miss at the same home, if that was as far from
              ///< the one before
};

/// When a rank sees what others have written.
enum class memory_consistency : std::uint8_t {
    /// At once: all ranks see one order of all accesses.
    sequential,
    /// When they have synchronised. A write that misses is started, and is done before the rank's
    /// next release: a collective, `notify`, `put_signal`, a put with a target counter, `store`, a
    /// message, `fence` or `quiet`, which may wait for it and serve messages meanwhile. A rank sees
    /// its own writes at once. Releases in handlers and completion handlers, and of threads that
    /// have joined the rank, announce nothing of its coherent memory.
    release,
};

/// What becomes of others' copies of a block that a rank writes.
enum class write_protocol : std::uint8_t {
    invalidate,  ///< they are given up, and asked for again when they are needed
    /// They get the changed bytes at the writer's next release. It pays where what has been read
    /// once is read again each time that it has been written. Ranks may write different bytes of a
    /// block at the same time. If several write one element between two synchronisations, all end
    /// with the same, of which each byte is one writer's. Elements cannot be changed atomically.
    /// With `memory_consistency::release`.
    update,
};

/// How coherent memory is kept.
struct cached {
    /// Unit of copies: a power of two, 8 to 65536.
    std::size_t block_bytes = 64;
    /// Copies that a rank keeps at most, in bytes; 0: as many as it uses.
    std::size_t capacity_bytes = 0;
    cache_protocol protocol = cache_protocol::where_needed;
    memory_consistency consistency = memory_consistency::sequential;
    write_protocol writes = write_protocol::invalidate;
    /// Goes on when a block that came so is used for the first time.
    prefetch_kind prefetch = prefetch_kind::none;
    std::size_t prefetch_blocks = 2;  ///< that are asked for at a time
    /// Counts accesses, by array and by line of the program. Every access is then a call. Nothing
    /// is counted where the protocol is not needed: see `cache_protocol::always`.
    bool has_statistics = false;
};

/// Accesses of one rank, as `cached::has_statistics` has them counted. What changes an element is a
/// write. A bulk access counts once for each block that it meets.
struct access_counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t remote_reads = 0;  ///< of other ranks' memory
    std::uint64_t remote_writes = 0;
    std::uint64_t untouched_reads = 0;  ///< of own blocks that no other rank has ever had
    std::uint64_t untouched_writes = 0;
    std::uint64_t read_misses = 0;  ///< that had to ask, at home for what others have
    std::uint64_t write_misses = 0;
    // Misses by cause; what is left of them is of blocks at home, or on their way already.
    std::uint64_t cold = 0;         ///< not had before, or given up by `flush` or `invalidate`
    std::uint64_t invalidated = 0;  ///< written by another rank since
    std::uint64_t evicted = 0;      ///< given away for want of room
    std::uint64_t upgrades = 0;     ///< writes to a block that could be read
    std::uint64_t useless = 0;      ///< of `invalidated`: what was wanted had not changed meanwhile
    std::int64_t waited_ps = 0;     ///< time in accesses that missed

    access_counts& operator+=(const access_counts& more) noexcept;
};

/// What a rank has done for coherent memory.
struct cache_counts {
    std::uint64_t home_entries = 0;  ///< of its own blocks, those that others have had
    /// Blocks of others that it has; with `cached::has_statistics` those that it has had, too.
    std::uint64_t copy_entries = 0;
    std::uint64_t blocks_sent = 0;  ///< messages with a block
    std::uint64_t blocks_received = 0;
    std::uint64_t invalidations_sent = 0;  ///< as a home: to forget, or to give back to the home
    std::uint64_t invalidations_received = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_backs = 0;   ///< of those, and of `flush`
    std::uint64_t updates_sent = 0;  ///< blocks whose changed bytes were sent, by receiver
    std::uint64_t updates_received = 0;
    std::uint64_t prefetched = 0;       ///< blocks that came before they were wanted, or by a hint
    std::uint64_t prefetched_used = 0;  ///< of those, the ones that were used before they were lost
};

/// Bytes that ranks have wanted to use at the same time though they shared none of them.
struct false_sharing {
    std::string array;  ///< in which the misses were
    /// Of the block's first byte in each rank's part of the array; 0 if the block begins before it.
    std::uint64_t offset = 0;
    std::uint32_t home = 0;            ///< whose part it is
    std::uint64_t useless_misses = 0;  ///< of the caller: `access_counts::useless`
};

/// One place in the program that has accessed an array.
struct access_line {
    std::string file;
    std::uint32_t line = 0;
    std::string array;
    access_counts counts;
};

inline access_counts& access_counts::operator+=(const access_counts& more) noexcept {
    reads += more.reads;
    writes += more.writes;
    remote_reads += more.remote_reads;
    remote_writes += more.remote_writes;
    untouched_reads += more.untouched_reads;
    untouched_writes += more.untouched_writes;
    read_misses += more.read_misses;
    write_misses += more.write_misses;
    cold += more.cold;
    invalidated += more.invalidated;
    evicted += more.evicted;
    upgrades += more.upgrades;
    useless += more.useless;
    waited_ps += more.waited_ps;
    return *this;
}

}  // namespace selion
