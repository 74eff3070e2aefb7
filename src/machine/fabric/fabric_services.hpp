// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "machine/fabric/fabric_waiter.hpp"
#include "machine/fabric/host_share.hpp"
#include "machine/fabric/port.hpp"
#include "machine/machine.hpp"
#include "machine/node/node_services.hpp"
#include "machine/node/post_office.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::fabric {

/// Time and waiting of one rank.
class fabric_clock final : public node::node_clock {
public:
    /// @param bells of the mapping. @param first rank of it.
    fabric_clock(const node::shared_mapping& mapping, const node::bell_layout& bells,
                 std::uint32_t first, sleeping_place& place)
        : node_clock(mapping, bells), first_(first), place_(place) {}
    /// The calling thread's own way to wait: collectives give the rank's context also where a
    /// thread calls them that has joined it.
    bool wait(detail::rank_context&, const wait_request& request) override {
        return node_clock::wait(*detail::current_context, request);
    }
    void wake(detail::rank_context& context, detail::shared_word& word) override;
    void wake_owner(detail::rank_context& context, detail::shared_word& word,
                    std::uint32_t owner) override;

private:
    std::uint32_t first_;
    sleeping_place& place_;
};

/// Accounts for the share that the mapping's ranks have of their host's memory.
class fabric_memory final : public node::mapped_memory {
public:
    /// @param first rank of the mapping.
    fabric_memory(const node::shared_mapping& mapping, std::uint32_t first)
        : mapped_memory(mapping), first_(first) {}
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;

private:
    std::uint32_t first_;
};

/// What one rank reaches, and how.
struct rank_reach {
    port& frames;  ///< to all but the near ones
    const node::shared_mapping& mapping;
    std::uint32_t first_mapped;  ///< the mapping's first rank
    rank_range near;             ///< whose memory it reaches; the own one is among them
    node::post_office* office;   ///< messages to near ones; null: there is only the own one
    sleeping_place& place;
    std::uint64_t most_message_bytes;
};

/// Operations on memory that the process maps at once, on others' by frames.
class fabric_transport final : public transport {
public:
    explicit fabric_transport(const rank_reach& reach) : reach_(reach), port_(reach.frames) {}

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
        if (goes_by_memory(request.target)) return reach_.office->send(context, request);
        if (port_.post_at_once(request)) return;
        port_.note_sent(meters::sent_kind::message, request.bytes);
        port_.post_message(context, request);
    }
    void send_plain(detail::rank_context& context, std::uint32_t target, std::uint64_t handler,
                    const std::byte* arguments, std::size_t bytes) override {
        if (goes_by_memory(target)) {
            return reach_.office->send_plain(context, target, handler, arguments, bytes);
        }
        transport::send_plain(context, target, handler, arguments, bytes);
    }
    void send_short(detail::rank_context& context, std::uint32_t target, bool is_reply,
                    std::uint64_t handler, std::uint64_t first, std::uint64_t second,
                    std::uint64_t about) override {
        node::row_way* const way =
            goes_by_memory(target) ? reach_.office->row_way_to(context, target) : nullptr;
        if (way == nullptr) {
            return transport::send_short(context, target, is_reply, handler, first, second, about);
        }
        (is_reply ? way->reply : way->send)(*way, handler, first, second, about, context);
    }
    bool can_lend(const detail::rank_context&, std::uint32_t target, const void* data,
                  std::size_t bytes) const override {
        return goes_by_memory(target) && reach_.office->can_lend(target, data, bytes);
    }
    std::optional<loan> lend(const detail::rank_context&, std::uint32_t target,
                             std::span<const std::byte> data) override {
        if (goes_by_memory(target)) return {};
        return port_.lend(target, data);
    }
    void read_loan(detail::rank_context& context, std::uint32_t lender, std::uint64_t key,
                   std::span<std::byte> to, counter& done) override {
        port_.note_sent(meters::sent_kind::get, to.size());
        port_.read_loan(context, lender, key, to, done);
    }
    bool moves_long_messages() const override { return port_.has_moves(); }
    std::uint64_t most_message_bytes() const override { return reach_.most_message_bytes; }
    bool poll(detail::rank_context& context) override {
        return !context.own.in_handler && reach_.place.serve(context);
    }
    bool has_unsent(detail::rank_context&) override {
        return room() != nullptr && room()->has_parked();
    }
    bool has_mail(detail::rank_context&) override {
        return port_.has_mail() || (room() != nullptr && room()->is_busy());
    }
    bool is_served(detail::rank_context&) override {
        return port_.is_served() || (room() != nullptr && room()->is_served());
    }
    const meters::sent_messages* sent_messages(const detail::rank_context&) const override {
        return &port_.sent();
    }

private:
    bool goes_by_memory(std::uint32_t target) const {
        return reach_.office != nullptr && reach_.near.contains(target);
    }
    const node::mail_room* room() const { return reach_.place.room; }
    bool is_near(std::uint64_t bits) const;
    std::byte* near_place(std::uint64_t bits) const;
    void raise_near(detail::rank_context& context, std::uint64_t signal,
                    detail::signal_update update);
    void put_near(detail::rank_context& context, const detail::put_request& request);
    void get_near(detail::rank_context& context, const detail::get_request& request);
    void post_gets(detail::rank_context& context, const detail::get_request& request,
                   pending_operation& what);
    void post_atomic(detail::rank_context& context, const detail::atomic_request& request,
                     std::uint64_t ticket, counter* completion);
    bool can_move(std::uint64_t bits, std::size_t bytes) {
        return port_.can_move(rank_of(bits), bytes);
    }
    static std::uint32_t rank_of(std::uint64_t bits) { return detail::rank_of(bits); }
    void put_long(detail::rank_context& context, const detail::put_request& request);
    void post_reads(detail::rank_context& context, const detail::get_request& request,
                    pending_operation& what);

    rank_reach reach_;
    port& port_;
};

}  // namespace selion::machine::fabric
