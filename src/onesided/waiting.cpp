// SPDX-License-Identifier: Apache-2.0
#include "onesided/waiting.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "machine/rank_list.hpp"
#include "selion/error.hpp"

namespace selion::detail {

namespace {

/// Whom a collective of all ranks lacks, where the records of all can be read; empty: nobody, or it
/// is not known.
std::string absentees_text(const rank_context& caller) {
    const machine::call_record& own = *caller.call;
    const auto what = static_cast<machine::operation>(machine::look_at(own.what));
    const bool is_of_all = machine::is_collective(what) && machine::look_at(own.team_size) == 0;
    if (!is_of_all || caller.sharer_count != caller.ranks) return {};
    std::vector<std::uint32_t> absent;
    for (std::uint32_t rank = 0; rank < caller.ranks; ++rank) {
        if (machine::is_absent(caller.sharers[rank], what, machine::look_at(own.instance))) {
            absent.push_back(rank);
        }
    }
    if (absent.empty()) return {};
    const std::string who = "; absent: " + machine::ranks_text(absent);
    if (absent.size() > 1) return who;
    return who + ", " + machine::last_call_text(caller.sharers[absent.front()]);
}

/// The limit of a wait. Where there is more time than before, what has been stopped goes on.
class wait_limit {
public:
    wait_limit(rank_context& context, std::int64_t deadline_ns)
        : context_(context), before_ns_(context.own.outer_deadline_ns) {
        set(deadline_ns);
    }
    ~wait_limit() { set(before_ns_); }
    wait_limit(const wait_limit&) = delete;
    wait_limit& operator=(const wait_limit&) = delete;

private:
    void set(std::int64_t deadline_ns) {
        const std::int64_t before_ns = std::exchange(context_.own.outer_deadline_ns, deadline_ns);
        const auto& above = context_.messages->above;
        if (deadline_ns > before_ns && above.go_on != nullptr) {
            above.go_on(above.argument, context_);
        }
    }

    rank_context& context_;
    std::int64_t before_ns_;
};

}  // namespace

std::string sentence_of_wait(std::string_view waits, std::string_view cure) {
    return fmt::format(
        "{}: a handler must not wait: it runs while its rank serves messages, as a "
        "function that is given to rpc or `then` does; {}",
        waits, cure);
}

bool await_in_time(rank_context& context, const machine::wait_request& request) {
    const wait_limit limit(context, request.deadline_ns);
    return await(context, request);
}

void run_completions_in_time(rank_context& context, std::int64_t timeout_ns) {
    if (context.messages == nullptr) return;
    const wait_limit limit(context, deadline_after(context, timeout_ns));
    run_completions(context);
}

void end_collective_wait(const rank_context& caller) {
    throw error(
        status::timed_out,
        fmt::format("rank {} has waited too long {}, which was to end within {:g} s{}", caller.rank,
                    machine::last_call_text(*caller.call),
                    static_cast<double>(caller.own.timeout_ns) / 1e9, absentees_text(caller)),
        {.rank = caller.rank,
         .peer = {},
         .operation = std::string(
             name_of(static_cast<machine::operation>(machine::look_at(caller.call->what)))),
         .bytes = {}});
}

}  // namespace selion::detail
