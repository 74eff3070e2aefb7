// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::node {

/// Time and waiting of ranks that share a mapping.
class node_clock final : public clock {
public:
    explicit node_clock(const shared_mapping& mapping) : mapping_(mapping) {}
    std::int64_t now_ns() override;
    std::int64_t stamp_ps() override;
    bool wait(detail::rank_context& context, const wait_request& request) override;
    void wake(detail::rank_context& context, detail::shared_word& word) override;

private:
    const shared_mapping& mapping_;
};

/// Moves bytes within a mapping: what operations do when the inline bypass is off.
class mapped_transport final : public transport {
public:
    explicit mapped_transport(const shared_mapping& mapping) : mapping_(mapping) {}
    void put(detail::rank_context& context, std::uint64_t target, const void* source,
             std::size_t bytes) override;
    void get(detail::rank_context& context, void* target, std::uint64_t source,
             std::size_t bytes) override;
    void put_signal(detail::rank_context& context,
                    const detail::put_signal_request& request) override;
    std::uint64_t atomic(detail::rank_context& context,
                         const detail::atomic_request& request) override;
    void quiet(detail::rank_context& context) override;

private:
    std::byte* address_of(std::uint64_t bits) const;
    const shared_mapping& mapping_;
};

/// Accounts for the host's memory over all ranks of the job.
class mapped_memory final : public memory {
public:
    explicit mapped_memory(const shared_mapping& mapping) : mapping_(mapping) {}
    bool commit(std::uint64_t bytes) override;
    void release(std::uint64_t bytes) override;
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;
    std::uint64_t committed_bytes() const override;
    std::uint64_t limit_bytes() const override;

private:
    const shared_mapping& mapping_;
};

}  // namespace selion::machine::node
