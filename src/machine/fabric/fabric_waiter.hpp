// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/fabric/bell_pipes.hpp"
#include "machine/fabric/port.hpp"
#include "machine/fabric/rank_deaths.hpp"
#include "machine/node/mail_room.hpp"
#include "machine/node/patience.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::fabric {

/// Whether a thread of the rank waits, and so serves (progress=interrupt).
class attention {
public:
    attention();
    ~attention();
    attention(const attention&) = delete;
    attention& operator=(const attention&) = delete;

    /// Readable once the thread that serves otherwise has been rung for.
    int file() const { return file_; }
    void ring() const;
    void hush() const;
    bool is_attended() const { return count_.load(std::memory_order_relaxed) != 0; }
    void attend() { count_.fetch_add(1, std::memory_order_relaxed); }
    /// Hands to the thread that serves meanwhile what the last one may leave behind.
    void leave(port& frames);

private:
    int file_;
    std::atomic<std::uint32_t> count_ = 0;
};

/// What the threads of a rank that may sleep have in common.
struct sleeping_place {
    const node::shared_mapping& mapping;
    bell_pipes& pipes;               ///< of the process
    std::vector<std::uint32_t> own;  ///< bells: of the rank, of threads that join it, beside it
    node::patience how_long;
    port* frames = nullptr;
    rank_deaths* deaths = nullptr;    ///< null: a death ends the job
    node::mail_room* room = nullptr;  ///< messages through memory that ranks share; null: alone
    bool has_frames = true;           ///< some come: not all ranks share memory
    std::optional<class attention> attention;  ///< only with progress=interrupt
    std::atomic_flag is_served{};              ///< where the rank has several threads

    /// Carries out what has come on either way, unless another thread of the rank is at it:
    /// handlers run one at a time.
    bool serve(detail::rank_context& server) {
        const turn_to_serve mine(*this);
        if (deaths != nullptr) [[unlikely]]
            deaths->look(server, bool(mine));
        if (!mine) return false;
        const bool has_served = has_frames && frames->serve(server);
        return (room != nullptr && room->serve(server)) || has_served;
    }
    /// The same of what came over the network.
    bool serve_frames(detail::rank_context& server) {
        const turn_to_serve mine(*this);
        return mine && frames->serve(server);
    }
    bool may_sleep() const {
        const bool has_deaths = deaths != nullptr && deaths->has_news();
        return !has_deaths && !is_served.test(std::memory_order_relaxed) &&
               (!has_frames || frames->may_sleep()) && (room == nullptr || !room->is_busy());
    }

private:
    class turn_to_serve {
    public:
        explicit turn_to_serve(sleeping_place& place)
            : taken_(place.mapping.has_one_thread_each() ? nullptr : &place.is_served),
              // acquire: what the last one who served did is done [fabric.turn]
              has_it_(taken_ == nullptr || !taken_->test_and_set(std::memory_order_acquire)) {}
        ~turn_to_serve() {
            if (has_it_ && taken_ != nullptr) {
                taken_->clear(std::memory_order_release);  // [fabric.turn]
            }
        }
        turn_to_serve(const turn_to_serve&) = delete;
        turn_to_serve& operator=(const turn_to_serve&) = delete;
        explicit operator bool() const { return has_it_; }

    private:
        std::atomic_flag* taken_;
        bool has_it_;
    };
};

/// A thread that runs the rank, or that joined it.
class fabric_waiter final : public waiter {
public:
    /// @param bell number of the thread's doorbell.
    fabric_waiter(sleeping_place& place, std::uint32_t bell)
        : place_(place), bell_(bell), yield_ns_(place.how_long.yield_ns) {}
    bool wait(const wait_request& request) override;
    void end_early() override { ends_early_ = true; }

private:
    bool wait_serving(const wait_request& request);
    template <class Look>
    void sleep(const wait_request& request, Look arrived);

    sleeping_place& place_;
    std::uint32_t bell_;
    std::int64_t yield_ns_;  ///< how long it yields before it sleeps
    bool ends_early_ = false;
};

/// Wakes whoever sleeps on a word that the process maps.
void wake_sleepers_of(sleeping_place& place, detail::shared_word& word);
/// Wakes the owner of a bell if he sleeps on a word that may be gone.
void wake_if_asleep(sleeping_place& place, std::uint32_t bell, const detail::shared_word& word);
/// Whoever of the rank sleeps looks again.
void wake_all(sleeping_place& place);

}  // namespace selion::machine::fabric
