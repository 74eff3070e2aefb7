// SPDX-License-Identifier: Apache-2.0
#include "selion/run.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <utility>

#include "base/exception_text.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "collectives/call_book.hpp"
#include "machine/call_record.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/run_history.hpp"
#include "machine/registry.hpp"
#include "machine/workers/worker_environment.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "world/end_of_job.hpp"
#include "world/job_files.hpp"
#include "world/job_time.hpp"
#include "world/network_start.hpp"
#include "world/record_file.hpp"
#include "world/tuning_file.hpp"
#include "world/world_state.hpp"

namespace selion::detail {
namespace {

constexpr int usage_status = 2;

[[noreturn]] void end_for_exception(rank_context& context, std::string_view what) {
    context.host->launcher().end_job(
        context, fmt::format("rank {} of {} ended with {}, {}; the job ends", context.rank,
                             context.ranks, what, machine::last_call_text(*context.call)));
    std::abort();  // compilers do not see that a virtual call never returns
}

/// A copy (fork) of a rank's process leaves as the program would where nothing runs ranks.
void leave_if_copy(const rank_context& context, int status, std::string_view exception) {
    if (!machine::is_copy_of_job()) return;
    if (!exception.empty()) {
        base::say(
            fmt::format("a process that rank {} of {} has forked ended with {}; the rank "
                        "goes on",
                        context.rank, context.ranks, exception));
    }
    machine::flush_and_leave(status);
}

int call_function(const rank_function& body, rank_context& context) {
    world all(context);
    try {
        const int status = body.call(body.function, all);
        leave_if_copy(context, machine::exit_status_of(status), {});
        return status;
    } catch (...) {
        const std::string what =
            fmt::format("an exception of type {}: {}", base::type_name_of_current_exception(),
                        base::text_of_current_exception());
        leave_if_copy(context, EXIT_FAILURE, what);
        context.clock->fall_in(context);  // others may have ended the job before that time
        end_for_exception(context, what);
    }
}

/// What messages need of ranks whose functions may have returned: lives until the job ends.
class message_states {
public:
    ~message_states() {
        for (node* one = first_; one != nullptr;) delete std::exchange(one, one->next);
    }
    onesided::message_state& add() {
        node* const made = new node{{}, first_.load(std::memory_order_relaxed)};
        while (!first_.compare_exchange_weak(made->next, made, std::memory_order_relaxed)) {
        }
        return made->state;
    }

private:
    struct node {
        onesided::message_state state;
        node* next;
    };
    std::atomic<node*> first_ = nullptr;
};

/// Others may need what the rank passes on.
void finish_started(rank_context& context, world_state& state, std::source_location site) {
    const machine::call_scope scope(context, machine::operation::wait_future, site);
    state.started.finish(context);
}

std::uint64_t sum_at_end(rank_context& context, collectives::team_state& team, std::uint64_t own) {
    if (team.members().are_mapped()) return team.meeting().sum_at_end(own);
    if (team.is_broken()) {
        context.host->launcher().end_job(
            context,
            "a collective of all ranks has ended in an error, and ranks that do not share memory "
            "cannot agree without it that all are done; the job ends. What may fail is for a team "
            "of its own, such as world.split(0)");
    }
    context.transport->quiet(context);  // what others have not taken yet may be news for them
    team.combine(reinterpret_cast<std::byte*>(&own), 1, erase_reduction<std::uint64_t>(plus));
    return own;
}

/// Ranks leave when nobody reads their memory any more and what they have sent to each other is
/// done: messages are handled and completion handlers have run, also of what those have sent.
void end_together(rank_context& context, collectives::team_state& team, std::source_location site) {
    machine::publish(context.call->has_finished, 1u);
    end_news own;
    std::uint64_t news = 1;  // all may have had some before they came here
    while (true) {
        {
            const machine::call_scope scope(context, machine::operation::end_of_run, site);
            const bool is_over = sum_at_end(context, team, news) == 0;
            empty_mail(context);
            if (is_over) return;
        }
        const machine::call_scope scope(context, machine::operation::completions, site);
        news = own.look(context);
    }
}

/// What the ranks of a process have in common, beside the machine.
struct job_parts {
    record_files& files;
    job_time& time;
    message_states& messages;
    const tuning_file& tuning;
};

int run_rank(const rank_function& body, const job_parts& job, rank_context& context) {
    context.messages = &job.messages.add();
    context.call_to_mail = onesided::call_to_mail;
    network_start network;
    if (context.deaths != nullptr) context.messages->end_notices = make_end_notices(context.ranks);
    // Not on the rank's stack: of many simulated ranks each has touched one page of that.
    const auto own_state =
        std::make_shared<world_state>(context, job.files.start_rank(context.rank));
    world_state& state = *own_state;
    if (network.tell(context, job.tuning)) state.everybody.learn_network();
    job.time.begin(context);
    const int rank_status = call_function(body, context);
    context.host->launcher().note_status(context, rank_status);
    machine::publish(context.call->return_status, rank_status);
    finish_started(context, state, body.site);
    const bool waits_for_nobody = context.host->memory().outlives_ranks();
    if (waits_for_nobody) {
        context.messages->completions.finish(context);
    } else if (context.deaths != nullptr) {
        end_among_mortals(context, body.site);
    } else {
        end_together(context, state.everybody, body.site);
    }
    job.time.end(context);
    if (context.messages->at_end != nullptr) context.messages->at_end(context);
    job.files.end_rank(context.rank);
    context.messages->above.move = nullptr;
    context.started = nullptr;
    if (waits_for_nobody && (state.everybody.is_broken() || state.teams->has_broken())) {
        context.messages->kept_collectives = own_state;
    } else {
        context.inbox = nullptr;
    }
    context.world = nullptr;
    context.own.plain_caller = &no_plain_caller;
    context.nodes = nullptr;
    context.tuning = nullptr;
    // The recorder stays: messages may still arrive.
    return rank_status;
}

selion::thread_level choose_level(const run_options& options) {
    if (!base::knob_text(base::knob::thread_level)) return options.thread_level;
    constexpr std::array<std::string_view, 3> words{"single", "serialized", "multiple"};
    return static_cast<selion::thread_level>(base::knob_choice(base::knob::thread_level, words));
}

std::string choose_spec(const run_options& options) {
    if (const auto spec = base::knob_text(base::knob::machine)) return *spec;
    return machine::choose_spec(options.machine);
}

/// Rank 0's process alone sees that nobody hears of deaths.
void warn_of_deaths(const machine_description& machine) {
    constexpr std::array<std::string_view, 2> words{"end", "report"};
    const bool reports = base::knob_choice(base::knob::rank_death, words) == 1;
    if (!reports || machine.kind == "fabric") return;
    base::say(
        fmt::format("warning: SELION_RANK_DEATH=report is for the machine fabric; on {} the "
                    "death of a rank ends the job",
                    machine.spec));
}

int run_checked(const std::string& spec, const run_options& options, const rank_function& body) {
    const selion::result<std::unique_ptr<machine::machine>> made = machine::make_machine(spec);
    if (!made) throw made.trouble();
    machine::machine& host = *made.value();
    const bool is_first = host.launcher().is_first_process();
    const job_files named(host.launcher());
    record_files files(host.description(), named);
    job_time time(host.description(), named.of(base::knob::time));
    if (is_first) {
        for (const std::string& warning : base::unknown_knob_warnings()) base::say(warning);
        warn_of_deaths(host.description());
        time.expect_file();
        files.begin(host.description());
    }
    const tuning_file tuning(host.description(), host.launcher());
    std::optional<machine::active_job> active(std::in_place, host);
    message_states messages;
    const job_parts parts{files, time, messages, tuning};
    collectives::call_book calls;
    const bool is_virtual = !host.description().capabilities.real_time;
    const int job_status = host.launcher().run({.rank_main =
                                                    [&](rank_context& context) {
                                                        context.tuning = tuning.table();
                                                        context.calls =
                                                            is_virtual ? &calls : nullptr;
                                                        return run_rank(body, parts, context);
                                                    },
                                                .thread_level = choose_level(options),
                                                .deliver = onesided::deliver,
                                                .lose_answers = onesided::lose_answers,
                                                .handed_file = tuning.file(),
                                                .files = named.all(),
                                                .has_trace = files.has_trace()});
    active.reset();
    time.end_simulation();
    if (is_first) files.end(host);
    return job_status;
}

int status_of(machine::run_call& call, const run_options& options, const rank_function& body) {
    try {
        if (machine::workers::serve_if_worker()) std::exit(EXIT_SUCCESS);
        const std::string spec = choose_spec(options);
        if (const std::optional<int> earlier = call.begin_on(spec)) return *earlier;
        return machine::exit_status_of(run_checked(spec, options, body));
    } catch (const error& trouble) {
        base::say(trouble.what());
        return trouble.code() == status::bad_argument ? usage_status : EXIT_FAILURE;
    } catch (const std::bad_alloc&) {
        base::say("run: there is no memory to begin a job; raise the limit of memory");
    } catch (const std::system_error& trouble) {
        base::say(
            fmt::format("run: the system refuses what a job needs to begin: {}", trouble.what()));
    }
    return EXIT_FAILURE;
}

}  // namespace

int run_job(int, char**, const run_options& options, const rank_function& body) {
    machine::run_call call;
    SELION_EXPECT_AT(current_context->ranks == 0 && call.is_only_one(), body.site,
                     std::string("run: a job is under way in this process, which runs one at a "
                                 "time: call run again when it is over, or start a program"));
    return call.end_with(status_of(call, options, body));
}

}  // namespace selion::detail
