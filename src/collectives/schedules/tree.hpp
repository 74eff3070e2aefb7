// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// Trees of places 0, 1, …; place 0 is the root. Whatever the tree, the places below a place are
/// those that follow it without a gap: so a subtree is a range, its blocks are neighbours, and a
/// reduction that takes in its children one after another keeps their order.
namespace selion::collectives {

enum class tree_shape { flat, k_nomial, binary, chain };

/// A place and those below it: `place` .. `end` - 1.
struct subtree {
    std::uint32_t place;
    std::uint32_t end;
    bool operator==(const subtree&) const = default;
};

/// A place in its tree.
struct tree_links {
    std::uint32_t parent;           ///< of the root: itself
    subtree own;                    ///< the place and all below it
    std::vector<subtree> children;  ///< the nearest first: in k-nomial trees the smallest
};

/// @param radix of a k-nomial tree, at least 2. @param place below `places`.
///
/// In a k-nomial tree the parent of a place clears the lowest digit of it, in base k, that is not
/// zero; the last subtrees are cut to what places there are. With radix 2, and 7 places:
///
///     0 ─┬─ 1
///        ├─ 2 ─── 3
///        └─ 4 ─┬─ 5
///              └─ 6
tree_links links_in(tree_shape shape, std::uint32_t radix, std::uint32_t places,
                    std::uint32_t place);

}  // namespace selion::collectives
