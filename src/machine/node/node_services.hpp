// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.hpp"
#include "machine/node/post_office.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::node {

/// Time and waiting of ranks that share a mapping.
class node_clock : public clock {
public:
    node_clock(const shared_mapping& mapping, const bell_layout& bells)
        : mapping_(mapping), bells_(bells) {}
    std::int64_t now_ns() override;
    std::int64_t stamp_ps() override;
    bool wait(detail::rank_context& context, const wait_request& request) override;
    void wake(detail::rank_context& context, detail::shared_word& word) override;
    void wake_owner(detail::rank_context& context, detail::shared_word& word,
                    std::uint32_t owner) override;
    void count(detail::rank_context& context, detail::shared_word& word) override;

protected:
    /// Threads that have joined ranks of its process, or had. @param rank of the mapping
    std::uint32_t joined_beside(std::uint32_t rank) const;

    const shared_mapping& mapping_;
    bell_layout bells_;
};

/// Moves bytes within a mapping: what operations do when the inline bypass is off.
class mapped_transport final : public transport {
public:
    mapped_transport(const shared_mapping& mapping, post_office& office)
        : mapping_(mapping), office_(office) {}
    void put(detail::rank_context& context, const detail::put_request& request) override;
    void get(detail::rank_context& context, void* target, std::uint64_t source,
             std::size_t bytes) override;
    void start_get(detail::rank_context& context, const detail::get_request& request) override;
    std::uint64_t atomic(detail::rank_context& context,
                         const detail::atomic_request& request) override;
    void start_atomic(detail::rank_context& context, const detail::atomic_request& request,
                      const detail::atomic_answer& answer) override;
    void quiet(detail::rank_context& context) override;
    void quiet(detail::rank_context& context, std::uint32_t target) override;
    void send(detail::rank_context& context, const message_request& request) override {
        office_.send(context, request);
    }
    void send_plain(detail::rank_context& context, std::uint32_t target, std::uint64_t handler,
                    const std::byte* arguments, std::size_t bytes) override {
        office_.send_plain(context, target, handler, arguments, bytes);
    }
    bool can_lend(const detail::rank_context&, std::uint32_t target, const void* data,
                  std::size_t bytes) const override {
        return office_.can_lend(target, data, bytes);
    }
    std::uint64_t most_message_bytes() const override { return office_.most_message_bytes(); }
    bool poll(detail::rank_context& context) override {
        return !context.own.in_handler && office_.poll(context);
    }
    bool serve(detail::rank_context& context, mail_sign& sign) override {
        return context.room->serve_found(context, sign);
    }
    bool has_unsent(detail::rank_context& context) override {
        return office_.room_of(context).has_parked();
    }
    bool is_served(detail::rank_context& context) override {
        return office_.room_of(context).is_served();
    }
    bool has_mail(detail::rank_context& context) override {
        return office_.room_of(context).is_busy();
    }

private:
    std::byte* address_of(std::uint64_t bits) const;
    void raise(detail::rank_context& context, std::uint64_t signal, detail::signal_update update);
    const shared_mapping& mapping_;
    post_office& office_;
};

/// Accounts for the host's memory over all ranks of the job.
class mapped_memory : public memory {
public:
    explicit mapped_memory(const shared_mapping& mapping) : mapping_(mapping) {}
    bool commit(std::uint64_t bytes) override;
    void release(std::uint64_t bytes) override;
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;
    std::uint64_t committed_bytes() const override;
    std::uint64_t limit_bytes() const override;

protected:
    const shared_mapping& mapping_;
};

}  // namespace selion::machine::node
