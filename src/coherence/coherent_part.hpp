// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "coherence/access_meter.hpp"
#include "coherence/access_trace.hpp"
#include "coherence/change_batches.hpp"
#include "coherence/coherence_costs.hpp"
#include "coherence/copy_store.hpp"
#include "coherence/directory.hpp"
#include "coherence/named_array.hpp"
#include "coherence/place_table.hpp"
#include "coherence/written_blocks.hpp"
#include "machine/machine.hpp"
#include "onesided/release_observers.hpp"
#include "selion/cached.hpp"
#include "selion/detail/block_view.hpp"

namespace selion::coherence {

/// Where a coherent space lies: the same on all ranks.
struct space_shape {
    std::uint64_t number = 0;  ///< of the space
    std::uint64_t offset = 0;  ///< of its first byte in each rank's memory
    std::uint64_t bytes = 0;
    std::uint64_t view_offset = 0;    ///< of the ranks' views
    std::uint64_t states_offset = 0;  ///< of what others may see of each block; 0: nothing
    cached how;
};

/// One rank's part of a coherent space: the directory of its own blocks, and its copies of others'.
/// Accesses are made by the rank's own thread alone, and so is all that messages change; see
/// protocol.md.
class coherent_part final : public onesided::release_observer, private protocol_host {
public:
    coherent_part(detail::rank_context& context, const space_shape& shape);
    ~coherent_part() override { finish_trace(); }

    const space_shape& shape() const { return shape_; }
    const detail::block_view* view() const { return &view_; }
    /// Makes an access to bytes of one block, and returns when it is done.
    void access(block_access& one);
    /// Starts one that counts on its completion counter when it is done.
    void start(const block_access& one);
    /// Starts to write bytes that the caller need not keep.
    /// @pre at most `most_copied`.
    void start_copied_write(const block_access& one);
    static constexpr std::size_t most_copied = 16;

    /// Others get what the rank has written, where that waits for its releases.
    void on_release(std::source_location site) override;
    /// Sends home what the rank has written and waits until it is there.
    void flush(std::source_location site);
    /// And forgets what it has read, and homes know that.
    void drop_all(std::source_location site);
    /// Waits until homes have seen to what they have been told and nobody has waited for.
    void confirm(std::source_location site);
    /// The next bytes of the space. @return their offset.
    std::uint64_t take(std::size_t bytes, std::size_t alignment, std::string_view name,
                       std::source_location site);

    /// A message of the protocol, on whatever thread it is served.
    void receive(const detail::rank_context& server, const detail::incoming_message& message);

    /// All accesses are written to a file in a folder. @param number of spaces made before.
    /// @pre `cached::has_statistics`
    void trace_into(const std::string& folder, std::uint64_t number);
    /// Nothing more is written there.
    void finish_trace();
    const access_meter* meter() const { return meter_ ? &*meter_ : nullptr; }
    cache_counts counts() const;
    void finish_calls();
    /// Makes a rank that only hits look after its messages.
    void call_for_attention(std::uint32_t rank);

    /// Ends the job if bytes which are accessed without the protocol are not what others see: a
    /// rank has written its copy of them, or has a copy of what is to be written. What other
    /// ranks have is known of blocks whose home is mapped.
    void expect_uncached(std::uint64_t address, std::size_t bytes, detail::access_purpose purpose,
                         std::source_location site) const;
    /// Ends the job if another thread calls, or another rank.
    void expect_own_thread(std::source_location site) const;

private:
    /// A started access, and room for a few bytes to write.
    struct kept_access : block_access {
        std::byte copy[most_copied];
        bool is_late = false;  ///< a write that the rank's next release waits for
    };
    struct kept_message {
        std::uint32_t rank;  ///< its origin or its target
        message_head head;
        std::vector<std::byte> data;
    };

    struct outgoing {
        std::uint32_t rank;
        std::span<const std::byte> arguments;
        std::span<const std::byte> data;
        bool is_reply;
    };

    struct left_message {
        coherent_part* part;
        kept_message message;
    };

    bool is_behind(std::uint64_t block, const block_copy& copy,
                   detail::access_purpose purpose) const;
    detail::own_state shown_state_of(std::uint64_t block) const;
    std::uint64_t block_of(std::uint64_t address) const { return address & ~(block_bytes_ - 1); }
    bool is_own(std::uint64_t address) const;
    detail::own_state& state_of(std::uint64_t address);

    void enter();
    bool show_table();
    void show_grown_table();
    bool is_called() const;
    bool try_now(block_access& one);
    bool try_own(block_access& one);
    bool try_copy(block_access& one);
    bool may_touch(std::uint64_t address) const;
    bool ask(block_access& one);
    void release_changes(std::source_location site);
    void send_all_changes();
    void close(std::uint64_t block, const std::byte* here, change_batches& to);
    void send_batch(const change_batch& batch, message_kind what);
    void take_changes(std::uint32_t writer, const block_message& message);
    void take_update(const block_message& message);
    void note_taken(std::uint64_t count_and_number);
    void note_update();
    void send_written(std::source_location site);
    bool has_sent_all() const;
    bool may_be_late(const block_access& one) const;
    void write_later(block_access& one);
    void prefetch_behind(std::uint64_t block, std::source_location site);
    std::uint64_t stride_to(std::uint64_t block);
    void note_prefetch(block_copy& copy, access_kind what);
    void await_change(std::source_location site);
    void await_change_after(std::uint64_t seen, std::source_location site);
    void expect_no_completion(std::source_location site) const;
    /// Waits until a count of what is under way is down to so many.
    void await_at_most(std::uint64_t most, const std::uint64_t& count, std::source_location site);
    kept_access& keep(const block_access& one);
    /// With its bytes. @pre at most `most_copied`.
    kept_access& keep_copied(const block_access& one);
    void run_kept(kept_access& kept);

    void wait_until(std::int64_t ps);
    void catch_up();
    void charge_hit(const block_access& one);
    void count_hit(const block_access& one, bool is_untouched);
    void note_miss(block_access& one, miss_cause cause);

    void handle(std::uint32_t origin, const message_head& head, std::span<const std::byte> data);
    void keep_message(std::uint32_t origin, const message_head& head,
                      std::span<const std::byte> data);
    void transmit(std::uint32_t rank, const message_head& head, std::span<const std::byte> data);
    void note_sent(std::uint32_t home, message_kind what);
    /// What `body` changes and sends comes before any other message.
    template <class Body>
    void at_once(const Body& body);
    void empty_outbox();
    void pass_on(const outgoing& message);

    // protocol_host
    void send(std::uint32_t rank, const block_message& message) override;
    std::byte* memory_of(std::uint64_t block) override;
    const std::byte* released_memory_of(std::uint64_t block) override;
    void forget(std::uint64_t block) override;
    void show(std::uint64_t block, detail::own_state state) override;
    bool was_used(std::uint64_t block) override { return table_.forget(block); }
    void begin_write(std::uint64_t block, const std::byte* here) override;
    void send_changes(std::uint64_t block, const std::byte* here) override;
    void finish(block_access& access) override;

    detail::rank_context& context_;
    space_shape shape_;
    std::uint64_t block_bytes_;
    std::byte* memory_;  ///< of the rank itself, at `shape_.offset`
    detail::block_view& view_;
    coherence_costs costs_;
    bool is_shown_;  ///< inline accesses may use the table
    bool replies_keep_order_;
    struct free_states {
        void operator()(detail::own_state* all) const { std::free(all); }
    };
    /// Of own blocks; zeroed pages cost nothing until they are touched.
    std::unique_ptr<detail::own_state[], free_states> states_;
    place_table table_;
    std::optional<written_blocks> written_;  ///< where others get updates
    directory directory_;
    copy_store copies_;
    std::vector<named_array> arrays_;
    std::optional<access_meter> meter_;
    std::optional<access_trace> trace_;

    detail::shared_word
        changes_{};                 ///< accesses that have been finished while they were waited for
    std::uint64_t unfinished_ = 0;  ///< started, and not finished
    std::uint64_t late_writes_ = 0;      ///< of them, those that the next release waits for
    std::uint64_t untaken_batches_ = 0;  ///< of changes, sent home
    std::uint64_t missing_answers_ = 0;  ///< of those who have copies; modulo 2^64, because some
                                         ///< come before their number is known
    struct sent_batch {
        std::uint32_t round;
        std::vector<std::uint64_t> blocks;
    };
    std::unordered_map<std::uint32_t, sent_batch> under_way_;  ///< by number
    std::uint32_t round_ = 0;                                  ///< of closing blocks
    std::uint32_t last_batch_ = 0;
    std::uint64_t echoes_ = 0;  ///< answers that are still to come
    std::vector<std::unique_ptr<kept_access>> all_kept_;
    std::vector<kept_access*> free_;

    std::uint64_t taken_bytes_ = 0;
    rank_set unconfirmed_;  ///< homes that have not said that they have what `confirm` waits for
    rank_set asked_homes_;  ///< homes that may list the rank as one that has copies
    std::uint32_t entered_ = 0;  ///< accesses that were calls

    std::string name_at(std::uint64_t address) const;

    static constexpr std::uint32_t nobody = UINT32_MAX;
    bool is_sending_ = false;
    std::deque<kept_message> outbox_;  ///< that wait for the one that is being sent
    bool is_handling_ = false;
    std::uint32_t answering_ = nobody;   ///< whose message is being handled
    std::int64_t handled_until_ps_ = 0;  ///< in virtual time: the last handler's end
    std::int64_t sent_until_ps_ = 0;     ///< and when the rank's own last message has left
    /// A read that missed.
    struct miss {
        std::uint64_t block = 0;
        std::uint64_t stride = 0;  ///< from the one before it
    };
    std::unordered_map<std::uint32_t, miss> last_misses_;  ///< by home
    std::uint64_t joined_misses_ = 0;  ///< of blocks that another access had asked for
    bool is_prefetching_ = false;
    std::uint64_t prefetched_ = 0;
    std::uint64_t prefetched_used_ = 0;
    std::uint64_t blocks_sent_ = 0;
    std::uint64_t blocks_received_ = 0;
    std::uint64_t updates_sent_ = 0;
    std::uint64_t updates_received_ = 0;
    std::atomic<std::uint32_t> kept_messages_ = 0;  ///< left to the rank's own thread
};

/// Makes a rank that only hits look after its messages. @param view_offset of its view of a space.
void call_rank(detail::rank_context& context, std::uint32_t rank, std::uint64_t view_offset);

}  // namespace selion::coherence
