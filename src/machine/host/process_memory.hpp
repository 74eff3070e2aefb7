// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Memory of another process of this host that it does not share, read and written with one copy by
/// the kernel (process_vm_readv, process_vm_writev). Systems and containers may forbid it, so
/// nobody relies on it unasked.
namespace selion::machine {

/// What a process says of itself, so that others find out whether they can read its memory.
struct process_card {
    std::int64_t process = 0;  ///< its number; 0: it does not want to be read
    std::uint64_t place = 0;   ///< address of a word of it …
    std::uint64_t secret = 0;  ///< … that holds this, as no other process's does
};

/// The card of this process; an empty one where SELION_PROCESS_MEMORY is off.
process_card own_process_card();
/// Whether the process is this one, or its memory can be read; then it can also be written. Another
/// process of the same number, in another namespace of them, is not taken for it.
bool can_read_memory(const process_card& other);

/// Where the system wants that (Yama's ptrace scope 1), permits a process and its descendants to
/// read this one's memory.
void permit_reading_by(std::int64_t process);

/// Reads memory of another process, which `can_read_memory` and waits until this has been done.
/// Throws `error(status::rank_dead)` when it is gone.
void read_memory(std::int64_t process, std::uint64_t from, std::span<std::byte> to);
/// Writes it, on the same conditions.
void write_memory(std::int64_t process, std::uint64_t to, std::span<const std::byte> from);

}  // namespace selion::machine
