// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedules/tree.hpp"

#include <algorithm>

namespace selion::collectives {
namespace {

tree_links flat_links(std::uint32_t places, std::uint32_t place) {
    if (place != 0) return {0, {place, place + 1}, {}};
    tree_links root{0, {0, places}, {}};
    for (std::uint32_t child = 1; child < places; ++child) {
        root.children.push_back({child, child + 1});
    }
    return root;
}

tree_links chain_links(std::uint32_t places, std::uint32_t place) {
    tree_links links{place == 0 ? 0 : place - 1, {place, places}, {}};
    if (place + 1 < places) links.children.push_back({place + 1, places});
    return links;
}

tree_links k_nomial_links(std::uint32_t radix, std::uint32_t places, std::uint32_t place) {
    tree_links links{0, {place, places}, {}};
    std::uint64_t weight = 1;
    for (; weight < places && place / weight % radix == 0; weight *= radix) {
        for (std::uint64_t digit = 1; digit < radix; ++digit) {
            const std::uint64_t child = place + digit * weight;
            if (child >= places) break;
            const std::uint64_t end = std::min<std::uint64_t>(child + weight, places);
            links.children.push_back(
                {static_cast<std::uint32_t>(child), static_cast<std::uint32_t>(end)});
        }
    }
    if (place != 0) {
        const std::uint64_t digit = place / weight % radix;
        links.parent = static_cast<std::uint32_t>(place - digit * weight);
        links.own.end = static_cast<std::uint32_t>(std::min<std::uint64_t>(place + weight, places));
    }
    return links;
}

/// Below a place stand the first and the second half of those that follow it.
tree_links binary_links(std::uint32_t places, std::uint32_t place) {
    tree_links links{0, {0, places}, {}};
    while (true) {
        const std::uint32_t first = links.own.place + 1;
        const std::uint32_t middle = first + (links.own.end - first + 1) / 2;
        if (links.own.place == place) {
            if (first < middle) links.children.push_back({first, middle});
            if (middle < links.own.end) links.children.push_back({middle, links.own.end});
            return links;
        }
        links.parent = links.own.place;
        links.own = place < middle ? subtree{first, middle} : subtree{middle, links.own.end};
    }
}

}  // namespace

tree_links links_in(tree_shape shape, std::uint32_t radix, std::uint32_t places,
                    std::uint32_t place) {
    switch (shape) {
        case tree_shape::flat: return flat_links(places, place);
        case tree_shape::k_nomial: return k_nomial_links(radix, places, place);
        case tree_shape::binary: return binary_links(places, place);
        case tree_shape::chain: break;
    }
    return chain_links(places, place);
}

}  // namespace selion::collectives
