// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace selion {

/// Who has to have come when data of a collective begin to move, or be done when a member leaves.
enum class sync_mode {
    none,  ///< nobody. At the entry: a member's data may move before it has entered
    mine,  ///< this member: its own data move while it is inside
    all,   ///< all members, as in a barrier
};

/// How a collective is synchronised. What is stricter than asked for is allowed: a member may have
/// to wait for others whose data it needs whatever the mode, and `none` may be carried out as
/// `mine`.
struct collective_sync {
    sync_mode entry = sync_mode::mine;
    sync_mode exit = sync_mode::mine;
};

inline constexpr collective_sync loose{sync_mode::none, sync_mode::none};
/// What one member does after the collective comes after everybody's part of it: a put into data
/// that a broadcast fills cannot be overtaken by the broadcast.
inline constexpr collective_sync strict{sync_mode::all, sync_mode::all};

}  // namespace selion
