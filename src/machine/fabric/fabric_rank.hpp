// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/batch_timer.hpp"
#include "machine/fabric/card.hpp"
#include "machine/fabric/endpoint.hpp"
#include "machine/fabric/fabric_services.hpp"
#include "machine/fabric/fabric_waiter.hpp"
#include "machine/fabric/interrupts.hpp"
#include "machine/fabric/port.hpp"
#include "machine/fabric/rank_deaths.hpp"
#include "machine/fabric/rank_places.hpp"
#include "machine/machine.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/post_office.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/node/side_thread.hpp"

namespace selion::machine::fabric {

/// What a rank needs of its process; the parts that are named here outlive it.
struct rank_surroundings {
    machine& host;
    const node::job_setting& setting;
    const job_terms& terms;
    const rank_places& places;
    const node::shared_mapping& mapping;
    rank_range mapped;  ///< the mapping's ranks
    bell_pipes& pipes;
    batch_timer* batches;  ///< null: every frame leaves by itself
    /// The network says that a rank is gone, and the job shall live on.
    std::function<void(std::uint32_t rank, std::string_view why)> lose;
    /// How another rank is reached; ends the job if nobody says.
    std::function<rank_contact(std::uint32_t rank)> contact_of;

    /// Numbers within the mapping.
    std::uint32_t index_of(std::uint32_t rank) const { return rank - mapped.first; }
    std::uint32_t own_process() const {
        return index_of(places.own().first) / places.ranks_per_process();
    }
};

/// One rank: its endpoint and port, its ways to wait, and its context. Nothing of it is another
/// rank's: ranks of a process have no lock in common that frames take.
class fabric_rank {
public:
    /// @param context is filled. @error system_failure (thrown): memory cannot be offered.
    fabric_rank(rank_surroundings around, std::unique_ptr<endpoint> end, std::uint32_t rank,
                detail::rank_context& context);
    fabric_rank(const fabric_rank&) = delete;
    fabric_rank& operator=(const fabric_rank&) = delete;

    detail::rank_context& context() { return context_; }
    sleeping_place& sleeping() { return sleeping_; }
    /// Messages begin to be served once the rank's function has begun. @param office of messages to
    /// ranks that share memory, null: there are none. @param room the rank's own of that.
    void open(const job& work, node::post_office* office, node::mail_room* room);
    /// Runs the rank's function, and returns when others have taken all that was sent to them; on
    /// the rank's own thread, with its context current. @return the function's status.
    int run(const job& work);
    /// Serves others, for a moment at most. On the same thread.
    void nap();
    /// Others are dead. Any thread.
    void lose(rank_range dead);
    /// Where ranks may die: lets what has been sent leave. On the rank's own thread.
    void say_goodbye();
    /// Nothing is served, and nothing sent any more.
    void close();

    bool call_beside(void (*function)(detail::rank_context&, void*), void* argument);
    /// See `port::debtors`.
    std::vector<std::uint32_t> debtors() { return port_->debtors(); }
    /// "rank 2 of 4 on host a".
    std::string name() const { return around_.places.name_of(rank_); }
    /// For SELION_VERBOSE.
    std::string text() const;
    /// For a hang report; empty: nothing.
    std::string lost_frames_text() const;
    const call_record* record_beside() const { return around_.mapping.record_beside(index()); }
    /// Says what is odd about the frames that have come.
    void report_frames() const;

private:
    sleeping_place place_to_sleep() const;
    std::unique_ptr<port> make_port();
    void wake_for_own_message();
    std::function<void()> batch_begun() const;
    std::uint32_t most_brief_looks() const;
    void prepare();
    std::uint32_t index() const { return around_.index_of(rank_); }
    std::byte* memory() const { return around_.mapping.slice(index()); }
    /// Those of memory that ranks share keep their length in front of them.
    std::uint64_t most_message_bytes() const {
        return around_.terms.message_bytes / 2 - 2 * sizeof(node::payload_header);
    }
    [[noreturn]] void end_job(const std::string& sentence) {
        around_.host.launcher().end_job({rank_, sentence, {}});
        std::abort();  // compilers do not see that a virtual call never returns
    }

    rank_surroundings around_;
    std::uint32_t rank_;
    detail::rank_context& context_;
    rank_range near_;  ///< whose memory it reaches
    std::unique_ptr<endpoint> end_;
    std::optional<rank_deaths> deaths_;  ///< null: they end the job
    sleeping_place sleeping_;
    fabric_waiter waiter_;
    std::unique_ptr<port> port_;
    fabric_clock clock_;
    std::optional<fabric_transport> transport_;
    std::optional<interrupts> interrupts_;
    bool has_interrupts_;
    std::optional<node::side_thread> beside_;
};

}  // namespace selion::machine::fabric
