// SPDX-License-Identifier: Apache-2.0
#include "offload/rank_server.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <source_location>
#include <string>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/workers/routine_list.hpp"
#include "machine/workers/worker_loop.hpp"
#include "onesided/waiting.hpp"
#include "selion/put_get.hpp"
#include "selion/rpc.hpp"
#include "selion/signal.hpp"

namespace selion::offload {
namespace {

constexpr rank_id host = 0;

constexpr std::size_t print_bytes = 1 << 20;  ///< a message holds more, but not any length

/// A part of a file of the host's.
struct file_part {
    std::array<char, 4096> bytes;
    std::int64_t count;  ///< negative: the number of an error
};

void print_on_host(std::span<const char> text) {
    machine::workers::print_here({text.data(), text.size()});
}

file_part read_on_host(std::span<const char> path, std::uint64_t offset) {
    file_part part{};
    part.count = machine::workers::read_part_here({path.data(), path.size()}, offset, part.bytes);
    return part;
}

class rank_server final : public rank_service, public detail::worker_services {
public:
    rank_server(detail::rank_context& context, const rank_memory& memory)
        : context_(context),
          memory_(memory),
          routines_(machine::workers::own_routines()),
          is_left_alone_(leaves_workers_alone(context.host->description().capabilities)) {}

    void serve(std::source_location site) override {
        detail::rank_context& own = *detail::current_context;
        site_ = site;
        const machine::call_scope scope(own, machine::operation::serve_calls, site);
        worker self(*this);
        for (turn_ = 1;; ++turn_) {
            wait_until(memory_.signal_at(own.rank, rank_layout::calls()), turn_);
            auto& request = memory_.own<rank_request>(own.rank, memory_.layout.request(turn_));
            if (request.routine == machine::workers::stop_routine) break;
            if (request.routine == copy_routine) {
                copy(request);
            } else {
                run(request, self);
            }
        }
        notify(memory_.signal_at(host, rank_layout::ended(number())), signal_set(turn_));
    }

    std::uint32_t number() const override { return context_.rank - 1; }
    bool is_cancelled() const override {
        static_cast<void>(detail::make_progress(context_));  // or the word would never come
        // Who looks twice is idle for that long: what a bus keeps for such a moment comes first.
        if (is_left_alone_ && !is_given_up()) static_cast<void>(detail::make_progress(context_));
        return is_given_up();
    }
    void print(std::string_view text) override {
        const std::span<const char> all(text.data(), text.size());
        for (std::size_t start = 0; start < all.size(); start += print_bytes) {
            const std::size_t count = std::min(print_bytes, all.size() - start);
            rpc(host, print_on_host, all.subspan(start, count)).get(site_);
        }
    }
    std::string read_file(const std::string& path) override {
        constexpr std::size_t part_bytes = sizeof(file_part::bytes);
        const auto read = [&](std::uint64_t offset, std::span<char> into) {
            const file_part part =
                rpc(host, read_on_host, std::span<const char>(path), offset).get(site_);
            if (part.count > 0) {
                std::memcpy(into.data(), part.bytes.data(), static_cast<std::size_t>(part.count));
            }
            return part.count;
        };
        return machine::workers::read_parts(path, part_bytes, read);
    }

private:
    bool is_given_up() const {
        auto& given_up = memory_.own<signal>(context_.rank, memory_.layout.cancelled(turn_));
        return detail::word_load(given_up.word()) == turn_;
    }

    /// Part of its memory goes to another worker.
    void copy(const rank_request& request) {
        const auto& [from, to, bytes] =
            *reinterpret_cast<const std::array<std::uint64_t, 3>*>(request.content.data());
        const std::byte* const start =
            memory_.at(context_.rank, memory_.layout.memory() + from).local();
        put(global_ptr<std::byte>(to), std::span(start, bytes));
        quiet();
        notify(memory_.signal_at(host, rank_layout::ended(number())), signal_set(turn_));
    }

    void run(rank_request& request, worker& self) {
        rank_reply reply{};
        std::string text;
        std::uint32_t result_words = 0;
        const bool measures = request.measures != 0;  // this rank's own option may be another
        if (is_given_up()) {
            reply.head = rank_reply::head_of(machine::workers::call_outcome::cancelled, 0);
        } else {
            std::uint64_t* const results = reply.results.data() + (measures ? 1 : 0);
            detail::routine_call_frame frame{request.content.data(), results,
                                             memory_.at(context_.rank, 0).local(), self};
            const detail::routine_entry* const which =
                request.routine < routines_.size() ? routines_[request.routine] : nullptr;
            const std::int64_t start = measures ? context_.clock->stamp_ps() : 0;
            const auto outcome = run_outside_of_serving(which, frame, text);
            const auto begun = static_cast<std::uint64_t>(start);
            const bool is_told =
                outcome == machine::workers::call_outcome::done && begun <= rank_reply::most_number;
            reply.head = rank_reply::head_of(outcome, is_told ? begun : 0);
            if (which != nullptr) result_words = words_of_results(*which);
            if (measures) {
                *reply.results.begin() =
                    static_cast<std::uint64_t>(context_.clock->stamp_ps() - start);
                ++result_words;
            }
        }
        if (!text.empty()) {
            const std::size_t kept = std::min(text.size(), machine::workers::most_error_text);
            std::memcpy(memory_.at(context_.rank, memory_.layout.text(turn_)).local(), text.data(),
                        kept);
            reply.head = rank_reply::head_of(reply.outcome(), kept);
        }
        const std::size_t bytes =
            offsetof(rank_reply, results) + result_words * sizeof(std::uint64_t);
        put_signal(memory_.at(host, memory_.layout.reply(number(), turn_)),
                   std::as_bytes(std::span(&reply, 1)).first(bytes),
                   memory_.signal_at(host, rank_layout::ended(number())), signal_set(turn_));
    }

    /// What a routine calls is told by its own name and place.
    machine::workers::call_outcome run_outside_of_serving(const detail::routine_entry* which,
                                                          detail::routine_call_frame& frame,
                                                          std::string& text) {
        const machine::pause_in_call in_its_own_name(*context_.call);
        return machine::workers::run_routine(which, frame, text, own_process_);
    }

    static std::uint32_t words_of_results(const detail::routine_entry& routine) {
        std::uint32_t words = routine.result.frame_words();
        for (const detail::routine_parameter& one : routine.parameters) words += one.result_words();
        return words;
    }

    detail::rank_context& context_;
    rank_memory memory_;
    std::vector<const detail::routine_entry*> routines_;
    machine::workers::process_mark own_process_;
    bool is_left_alone_;  ///< while it computes
    std::uint64_t turn_ = 0;
    std::source_location site_;  ///< where the program serves
};

}  // namespace

std::unique_ptr<rank_service> make_rank_server(detail::rank_context& context,
                                               const rank_memory& memory) {
    return std::make_unique<rank_server>(context, memory);
}

}  // namespace selion::offload
