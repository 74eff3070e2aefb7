// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/bus_network.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace selion::machine::sim {
namespace {

constexpr std::uint32_t master = 0;

class bus final : public bus_network {
public:
    bus(const bus_model& model, std::uint32_t ranks)
        : model_(model), costs_(model, ranks), idle_from_(ranks, end_of_time) {}

    ticks inject(engine& host, message& what) override {
        what.next = nullptr;
        if (what.from == master && what.to != master) return carry(host, make_job(what, false));
        inject_from_event(host, what);
        return host.now();
    }
    bool has_broadcast() const override { return model_.has_broadcast; }

    void inject_from_event(engine& host, message& what) override {
        what.next = nullptr;
        if (what.from == what.to) {
            what.act = what.arrive;
            return host.schedule(what, host.now(), host.rank(what.from));
        }
        const bool is_masters_read = what.kind == message_class::read_reply && what.to == master;
        const bool is_direct =
            model_.boards_are_masters && what.from != master && what.to != master;
        job wanted = make_job(what, what.from != master && !is_direct);
        if (is_direct) {
            wanted.needs_master = false;
            if (wanted.needs_bus) wanted.takes = costs_.direct(what.from, what.to, what.bytes);
        }
        wanted.goes_first = is_masters_read;
        ask(host, wanted);
    }

    ticks broadcast(engine& host, std::span<message* const> copies) override {
        if (copies.empty()) return host.now();
        return model_.has_broadcast ? carry(host, join(copies)) : network::broadcast(host, copies);
    }

    const bus_costs& costs() const override { return costs_; }
    void watch(std::function<void(const bus_transfer&)> who) override { watcher_ = std::move(who); }
    std::vector<link_use> links() const override { return {use_}; }
    ticks stalls(std::uint32_t rank) const override { return rank == master ? stalled_ : 0; }

    bool follows_ranks() const override { return model_.idle_boards_only || !model_.has_dma; }

    void rank_is_idle(engine& host, std::uint32_t rank, ticks at) override {
        idle_from_[rank] = at;
        if (rank != master && model_.idle_boards_only) start_next(host);
    }

    ticks rank_computes(std::uint32_t rank, ticks at) override {
        idle_from_[rank] = end_of_time;
        if (current_.what == nullptr) return at;
        const bool is_needed = rank == master ? !model_.has_dma && current_.needs_master
                                              : model_.idle_boards_only && touches(current_, rank);
        return is_needed ? std::max(at, until_) : at;
    }

private:
    /// A transfer that somebody wants.
    struct job {
        message* what = nullptr;  ///< of a broadcast: the first of a chain
        bool is_read = false;
        bool needs_bus = true;
        ticks takes = 0;
        ticks asked = 0;
        bool needs_master = true;
        bool goes_first = false;
    };

    job make_job(message& what, bool is_read) const {
        if (is_read) return {&what, true, true, costs_.read(what.from, what.bytes)};
        if (what.kind == message_class::read_request && what.bytes == 0)
            return {&what, false, false};
        return {&what, false, true, costs_.write(what.to, what.bytes)};
    }

    job join(std::span<message* const> copies) const {
        job all = make_job(*copies.front(), false);
        for (std::size_t i = 0; i < copies.size(); ++i) {
            copies[i]->next = i + 1 < copies.size() ? copies[i + 1] : nullptr;
            all.takes = std::max(all.takes, costs_.write(copies[i]->to, copies[i]->bytes));
        }
        return all;
    }

    /// The master does it itself, and stands still until it is done.
    ticks carry(engine& host, const job& wanted) {
        if (model_.has_dma) {
            ask(host, wanted);
            return host.now();
        }
        const ticks since = host.now();
        idle_from_[master] = since;
        ask(host, wanted);
        if (current_.what == wanted.what) {
            idle_from_[master] = end_of_time;
            return until_;
        }
        awaited_ = wanted.what;
        host.suspend();
        stalled_ += host.now() - wanted.takes - since;
        return host.now();
    }

    /// One that goes first goes behind those that do so already.
    void ask(engine& host, job wanted) {
        wanted.asked = host.now();
        const auto place =
            wanted.goes_first ? std::ranges::find(queue_, false, &job::goes_first) : queue_.end();
        queue_.insert(place, wanted);
        start_next(host);
    }

    /// Begins the first transfer that may begin now, if the bus is free.
    void start_next(engine& host) {
        if (current_.what != nullptr) return;
        ticks soonest = end_of_time;
        for (auto place = queue_.begin(); place != queue_.end(); ++place) {
            const ticks ready = ready_at(host, *place);
            if (ready <= host.now()) {
                current_ = *place;
                queue_.erase(place);
                return start(host);
            }
            soonest = std::min(soonest, ready);
        }
        if (soonest != end_of_time) look_again(host, soonest);
    }

    /// When all boards that it concerns are idle; unknown while one computes. One whose wait is
    /// over counts as computing before it has run: what woke it may be its work.
    ticks ready_at(engine& host, const job& wanted) const {
        if (!model_.idle_boards_only) return 0;
        ticks latest = 0;
        const auto wait_for = [&](std::uint32_t board) {
            const bool is_awake = engine::is_armed(host.rank(board));
            latest = is_awake ? end_of_time : std::max(latest, idle_from_[board]);
        };
        for (const message* each = wanted.what; each != nullptr; each = each->next) {
            if (concerns_sender(wanted)) wait_for(each->from);
            if (!wanted.is_read) wait_for(each->to);
        }
        return latest;
    }

    static bool touches(const job& which, std::uint32_t board) {
        for (const message* each = which.what; each != nullptr; each = each->next) {
            if (concerns_sender(which) && each->from == board) return true;
            if (!which.is_read && each->to == board) return true;
        }
        return false;
    }

    /// The master reads from it, or it sends by itself; else it is the master that writes.
    static bool concerns_sender(const job& which) { return which.is_read || !which.needs_master; }

    /// Ranks wait on clocks of their own, which may be ahead.
    void look_again(engine& host, ticks at) {
        if (engine::is_armed(look_) && look_at_ <= at) return;
        look_at_ = at;
        host.cancel(look_);
        look_.owner = this;
        look_.act = [](engine& later, event& due) {
            static_cast<look&>(due).owner->start_next(later);
        };
        host.schedule(look_, at, host.rank(master));
    }

    void start(engine& host) {
        message& what = *current_.what;
        until_ = host.now() + current_.takes;
        if (current_.needs_bus) note_use(host);
        if (current_.needs_master) take_processor(host, current_.takes);
        what.owner = this;
        what.act = [](engine& later, event& due) {
            static_cast<message&>(due).wires<bus>().end_transfer(later);
        };
        host.schedule(what, until_, host.rank(what.from));
    }

    void note_use(const engine& host) {
        ++use_.messages;
        use_.bytes += current_.what->bytes;
        use_.busy += current_.takes;
        use_.until = until_;
        use_.waiting += host.now() - current_.asked;
        if (!watcher_) return;
        const message& what = *current_.what;
        watcher_({.start = host.now(),
                  .end = until_,
                  .board = current_.is_read ? what.from : what.to,
                  .is_read = current_.is_read,
                  .bytes = what.bytes});
    }

    /// Takes the time from a master that computes.
    void take_processor(engine& host, ticks taken) {
        ticks& idle_from = idle_from_[master];
        if (model_.has_dma || idle_from <= host.now()) return;
        host.steal(host.rank(master), taken);
        if (idle_from != end_of_time) idle_from += taken;
    }

    void end_transfer(engine& host) {
        const job done = std::exchange(current_, job{});
        if (awaited_ == done.what) {
            awaited_ = nullptr;
            idle_from_[master] = end_of_time;
            host.resume_at(host.rank(master), host.now());
        }
        if (done.is_read && done.what->to != master) {
            ask(host, make_job(*done.what, false));
        } else {
            for (message* each = done.what; each != nullptr;) {
                message* const next = each->next;
                each->arrive(host, *each);
                each = next;
            }
        }
        start_next(host);
    }

    struct look : event {
        bus* owner = nullptr;
    };

    bus_model model_;
    bus_costs costs_;
    std::vector<ticks> idle_from_;  ///< of each rank; `end_of_time` while it computes
    std::deque<job> queue_;
    job current_;                       ///< on the bus
    ticks until_ = 0;                   ///< its end
    const message* awaited_ = nullptr;  ///< whose end the master stands still for
    look look_;
    ticks look_at_ = 0;
    ticks stalled_ = 0;
    link_use use_{.name = "bus"};
    std::function<void(const bus_transfer&)> watcher_;
};

}  // namespace

std::unique_ptr<bus_network> make_bus_network(const bus_model& model, std::uint32_t ranks) {
    return std::make_unique<bus>(model, ranks);
}

}  // namespace selion::machine::sim
