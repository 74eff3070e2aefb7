// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace selion::collectives {

/// Which numbers belong to which node: each node has a range of neighbours in number. Of a job,
/// whose ranks share memory with those of their node, or of a team.
class node_map {
public:
    node_map() = default;
    /// @param firsts number of the first of each node, rising from 0.
    node_map(std::vector<std::uint32_t> firsts, std::uint32_t count);
    /// @param marks bit n % 64 of word n / 64: number n is the first of its node.
    static node_map of_marks(std::span<const std::uint64_t> marks, std::uint32_t count);

    std::uint32_t nodes() const { return static_cast<std::uint32_t>(firsts_.size()); }
    std::uint32_t first_of(std::uint32_t node) const { return firsts_[node]; }
    std::uint32_t end_of(std::uint32_t node) const {
        return node + 1 < nodes() ? firsts_[node + 1] : count_;
    }
    std::uint32_t size_of(std::uint32_t node) const { return end_of(node) - first_of(node); }
    std::uint32_t node_of(std::uint32_t number) const;
    /// The numbers of a node.
    struct range {
        std::uint32_t first;
        std::uint32_t end;
        std::uint32_t size() const { return end - first; }
    };
    range range_of(std::uint32_t node) const { return {first_of(node), end_of(node)}; }
    /// Of the largest node.
    std::uint32_t most() const;
    /// Whether there are several, of which one has several members.
    bool has_levels() const { return nodes() > 1 && nodes() < count_; }
    /// How many each but the last has, and the last at most; 0: they differ.
    std::uint32_t common_size() const;

private:
    std::vector<std::uint32_t> firsts_;
    std::uint32_t count_ = 0;
};

}  // namespace selion::collectives
