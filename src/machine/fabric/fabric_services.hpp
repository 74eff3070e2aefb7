// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/fabric/fabric_waiter.hpp"
#include "machine/fabric/port.hpp"
#include "machine/machine.hpp"
#include "machine/node/node_services.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::fabric {

/// Time and waiting of one rank that maps its own memory. Words are woken within the process.
class fabric_clock final : public node::node_clock {
public:
    fabric_clock(const node::shared_mapping& mapping, sleeping_place& place)
        : node_clock(mapping, {}), place_(place) {}
    void wake(detail::rank_context& context, detail::shared_word& word) override;
    void count(detail::rank_context& context, detail::shared_word& word) override;

private:
    sleeping_place& place_;
};

/// Accounts for this process's share of its host's memory.
class fabric_memory final : public node::mapped_memory {
public:
    using mapped_memory::mapped_memory;
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;
};

/// Operations on the own memory at once, on others' by frames.
class fabric_transport final : public transport {
public:
    fabric_transport(port& frames, std::byte* memory, std::uint32_t own_rank,
                     std::uint64_t most_message_bytes)
        : port_(frames),
          memory_(memory),
          own_rank_(own_rank),
          most_message_bytes_(most_message_bytes) {}

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
        port_.post_message(context, request);
    }
    bool can_lend(const detail::rank_context&, std::uint32_t, const void*,
                  std::size_t) const override {
        return false;
    }
    std::uint64_t most_message_bytes() const override { return most_message_bytes_; }
    bool poll(detail::rank_context& context) override {
        return !context.own.in_handler && port_.serve(context);
    }
    bool has_mail(detail::rank_context&) override { return port_.has_mail(); }
    bool is_served(detail::rank_context&) override { return port_.is_served(); }

private:
    bool is_own(std::uint64_t bits) const;
    std::byte* own_place(std::uint64_t bits) const;
    void raise_own(detail::rank_context& context, std::uint64_t signal,
                   detail::signal_update update);
    void put_own(detail::rank_context& context, const detail::put_request& request);
    void get_own(detail::rank_context& context, const detail::get_request& request);
    void post_gets(detail::rank_context& context, const detail::get_request& request,
                   pending_operation& what);
    void post_atomic(detail::rank_context& context, const detail::atomic_request& request,
                     std::uint64_t ticket, counter* completion);
    bool can_move(detail::rank_context& context, std::uint64_t bits, std::size_t bytes) {
        return port_.can_move(context, rank_of(bits), bytes);
    }
    static std::uint32_t rank_of(std::uint64_t bits) {
        return static_cast<std::uint32_t>((bits >> detail::offset_bits) & detail::rank_mask);
    }
    void put_long(detail::rank_context& context, const detail::put_request& request);
    void post_reads(detail::rank_context& context, const detail::get_request& request,
                    pending_operation& what);

    port& port_;
    std::byte* memory_;
    std::uint32_t own_rank_;
    std::uint64_t most_message_bytes_;
};

}  // namespace selion::machine::fabric
