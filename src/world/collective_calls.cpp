// SPDX-License-Identifier: Apache-2.0
/// Calls of collectives: what is checked, noted and recorded before a team carries them out.
#include "selion/team.hpp"

#include <fmt/format.h>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"
#include "onesided/deaths.hpp"
#include "onesided/release_observers.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/composed_call.hpp"
#include "selion/detail/started_call.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "world/compared_calls.hpp"
#include "world/world_state.hpp"

namespace selion {
namespace detail {
namespace {

using machine::operation;

/// Whether a rank may take part in a collective now.
void expect_may_meet(const rank_context& context, operation what, std::source_location site) {
    SELION_EXPECT_AT(context.world != nullptr, site,
                     "collectives may be called only while the rank's function runs");
    SELION_EXPECT_AT(!context.own.in_handler, site,
                     fmt::format("{} is a collective; a handler must not wait", name_of(what)));
    expect_not_in_completion(context, what, site);
}

/// Whether it may begin a collective of a team.
void expect_may_begin(const rank_context& context, const team_view& team, operation what,
                      std::source_location site) {
    expect_may_meet(context, what, site);
    SELION_EXPECT_AT(!team.state->has_arrived(), site,
                     fmt::format("{} between arrive() and wait() of its team", name_of(what)));
}

/// Records the time of a call, where that is asked for.
class recorded_call {
public:
    recorded_call(const rank_context& context, operation what, std::source_location site)
        : context_(context), what_(what), site_(site) {
        if (context.recorder != nullptr) start_ps_ = context.clock->stamp_ps();
    }
    ~recorded_call() {
        if (context_.recorder == nullptr) return;
        context_.recorder->record({.name = name_of(what_).data(),
                                   .start_ps = start_ps_,
                                   .end_ps = context_.clock->stamp_ps(),
                                   .kind = meters::slice_kind::collective,
                                   .line = site_.line(),
                                   .file = site_.file_name()});
    }
    recorded_call(const recorded_call&) = delete;
    recorded_call& operator=(const recorded_call&) = delete;

private:
    const rank_context& context_;
    operation what_;
    std::source_location site_;
    std::int64_t start_ps_ = 0;
};

/// A collective in progress: marks the rank as inside, records its time, and compares the ranks'
/// calls where that is asked for.
class collective_scope {
public:
    collective_scope(rank_context& context, const team_view& team,
                     const collectives::call_signature& signature, std::source_location site)
        : call_(context, static_cast<operation>(signature.what), site, team.size_in_report),
          record_(context, static_cast<operation>(signature.what), site) {
        expect_may_begin(context, team, static_cast<operation>(signature.what), site);
        if (context.compares_calls) compare_call(context, *team.state, signature, site);
    }
    collective_scope(const collective_scope&) = delete;
    collective_scope& operator=(const collective_scope&) = delete;

private:
    machine::call_scope call_;
    recorded_call record_;
};

/// The time that a collective may take, and whom it needs. One that ends in an error leaves its
/// team unusable.
class deadline_scope {
public:
    deadline_scope(rank_context& context, const team_view& team) : context_(context), team_(team) {
        context_.own.deadline_ns = deadline_after(context, team.timeout_ns);
        context_.own.timeout_ns = team.timeout_ns;
        context_.own.needs = &team.state->members();
    }
    ~deadline_scope() {
        const bool has_deadline = context_.own.deadline_ns != machine::no_deadline;
        context_.own.deadline_ns = machine::no_deadline;
        context_.own.needs = nullptr;
        if (has_deadline && context_.started != nullptr) context_.started->go_on(context_);
        if (!is_done_) team_.state->set_broken();
    }
    deadline_scope(const deadline_scope&) = delete;
    deadline_scope& operator=(const deadline_scope&) = delete;
    void set_done() { is_done_ = true; }

private:
    rank_context& context_;
    const team_view& team_;
    bool is_done_ = false;
};

/// Functions of one type are told apart by where they lie.
void add_function(collectives::call_signature& signature, const reduction* how) {
    if (how == nullptr || !how->is_function) return;
    signature.type_hash = signature.type_hash * 31 + machine::encode_place(how->operation);
}

void meet(const team_view& team) {
    if (!team.context->words_mapped) team.context->transport->quiet(*team.context);
    team.state->meet();
}

/// A collective, synchronised and limited as its team asks for.
template <class Body>
void run_on_terms(rank_context& context, const team_view& team,
                  collectives::call_signature signature, std::source_location site,
                  const Body& body) {
    signature.modes = collectives::modes_of(team.sync.entry, team.sync.exit);
    deadline_scope deadline(context, team);
    release_writes(context, site);
    const collective_scope scope(context, team, signature, site);
    if (team.sync.entry == sync_mode::all) meet(team);
    body();
    if (team.sync.exit == sync_mode::all) meet(team);
    deadline.set_done();
}

/// The calling thread's context: a thread that has joined a rank waits in a way of its own.
rank_context& caller_for(const team_view& team, operation what, std::source_location site) {
    rank_context& caller =
        current_context == team.context ? *team.context : context_of_caller(site);
    SELION_EXPECT_AT(caller.rank == team.context->rank, site,
                     fmt::format("a team of rank {} is used by a thread that works for rank {}",
                                 team.context->rank, caller.rank));
    SELION_EXPECT_AT(
        team.state != nullptr, site,
        fmt::format("{} of a team that rank {} is no member of", name_of(what), caller.rank));
    onesided::expect_alive(caller, team.state->members(), name_of(what));
    SELION_EXPECT_AT(
        !team.state->is_broken(), site,
        fmt::format("{} of a team whose last collective ended in an error: its members "
                    "may be in different ones; make a new team",
                    name_of(what)));
    return caller;
}

/// Nothing is recorded or compared, and the call is allowed: a collective is then its bare steps,
/// and the fewest of them count where two ranks share a core.
bool is_plain(const rank_context& context) {
    return !context.compares_calls && context.recorder == nullptr && context.world != nullptr &&
           context.deaths == nullptr && !context.own.announces_writes && !context.own.in_handler &&
           !onesided::in_completion(context);
}

/// As its own function it takes no stack from those who need not wait long. Only now the rank is
/// inside the call for others to see: before, they would have had a microsecond for it.
[[gnu::noinline]] void wait_long(const team_view& team) {
    const collectives::central_meeting& centre = *team.centre;
    machine::call_record& record = *team.context->call;
    machine::publish(record.entries, record.entries + 1);
    await_word(*team.context, {*centre.word, centre.goal, machine::wait_reason::collective});
    machine::publish(record.entries, record.entries + 1);
}

/// The rest of a plain barrier for those who arrive before the last. A function of its own, so that
/// the last one saves no registers for it.
[[gnu::noinline, gnu::hot]] void wait_for_rest(operation what, const team_view& team,
                                               std::source_location site) {
    const collectives::central_meeting& centre = *team.centre;
    machine::note_call(*team.context->call, what, site, team.size_in_report);
    if (!word_arrives_soon(*team.context, *centre.word, centre.goal)) wait_long(team);
}

/// A barrier of which nobody takes note but hang and death reports. It arrives first and leaves its
/// note while it waits. The last one to arrive has not been inside for anyone to see; it is the
/// first at the next barrier, and the fewer instructions there are between, the more often its core
/// still owns the counter's line.
inline void synchronise_plainly(operation what, const team_view& team, std::source_location site) {
    rank_context& context = *team.context;
    collectives::central_meeting& centre = team.state->meeting().centre();
    if (!centre.arrive_here()) return wait_for_rest(what, team, site);
    machine::note_call(*context.call, what, site, team.size_in_report);
    if (has_sleepers_after_addition(context)) [[unlikely]]
        wake_sleepers(context, *centre.word);
}

/// A synchronisation that may have to take note, to compare, or to wait for messages. A barrier
/// also completes: where everybody maps everything, arriving publishes all earlier stores.
[[gnu::noinline]] void synchronise_in_full(operation what, const team_view& team,
                                           std::source_location site) {
    rank_context& context = caller_for(team, what, site);
    const bool is_to_complete = what == operation::barrier && !context.words_mapped;
    if (is_plain(context) && !team.state->has_arrived() && team.timeout_ns < 0) {
        if (is_to_complete) team.context->transport->quiet(*team.context);
        const machine::call_scope call(context, what, site, team.size_in_report);
        team.state->meet();
        return;
    }
    deadline_scope deadline(context, team);
    if (is_to_complete) team.context->transport->quiet(*team.context);
    release_writes(context, site);
    const collective_scope scope(context, team, signature_of(what), site);
    team.state->meet();
    deadline.set_done();
}

/// Whether a barrier may take its shortest way.
bool meets_plainly(const team_view& team) {
    return current_context->own.plain_caller == team.centre->plain_for;
}

void expect_root(operation what, std::uint32_t root, const team_view& team,
                 std::source_location site) {
    SELION_EXPECT_AT(root < team.size, site,
                     fmt::format("{}: root {} is no member; members are 0 to {}", name_of(what),
                                 root, team.size - 1));
}

}  // namespace

[[gnu::hot]] void sync(const team_view& team, std::source_location site) {
    if (meets_plainly(team)) [[likely]]
        return synchronise_plainly(operation::sync, team, site);
    synchronise_in_full(operation::sync, team, site);
}

[[gnu::hot]] void barrier(const team_view& team, std::source_location site) {
    if (meets_plainly(team)) [[likely]]
        return synchronise_plainly(operation::barrier, team, site);
    synchronise_in_full(operation::barrier, team, site);
}

void arrive(const team_view& team, std::source_location site) {
    rank_context& context = caller_for(team, operation::arrive, site);
    expect_may_meet(context, operation::arrive, site);
    if (!context.words_mapped) context.transport->quiet(context);
    SELION_EXPECT_AT(!team.state->has_arrived(), site, "arrive() twice, without wait() between");
    release_writes(context, site);
    // Ranks are not compared: that would wait.
    const machine::call_scope call(context, operation::arrive, site, team.size_in_report);
    const recorded_call record(context, operation::arrive, site);
    team.state->meeting().tell_arrival();
    team.state->set_arrived(true);
}

void wait(const team_view& team, std::source_location site) {
    rank_context& context = caller_for(team, operation::wait, site);
    expect_may_meet(context, operation::wait, site);
    SELION_EXPECT_AT(team.state->has_arrived(), site,
                     "wait: the rank has not arrived; call arrive() first");
    const machine::call_scope call(context, operation::wait, site, team.size_in_report);
    const recorded_call record(context, operation::wait, site);
    team.state->set_arrived(false);
    deadline_scope deadline(context, team);
    team.state->meeting().await_arrivals(machine::wait_reason::collective);
    deadline.set_done();
}

void all_reduce(const team_view& team, void* data, std::size_t count, const reduction& how,
                std::source_location site) {
    rank_context& context = caller_for(team, operation::all_reduce, site);
    SELION_EXPECT_AT(how.element_bytes <= collectives::slot_bytes, site,
                     fmt::format("all_reduce: an element has {} bytes; at most {} are possible",
                                 how.element_bytes, collectives::slot_bytes));
    collectives::call_signature signature = signature_of(operation::all_reduce);
    signature.count = count;
    signature.element_bytes = how.element_bytes;
    signature.type_hash = how.type_hash;
    if (context.compares_calls) add_function(signature, &how);
    run_on_terms(context, team, signature, site,
                 [&] { team.state->combine(static_cast<std::byte*>(data), count, how); });
}

namespace {

operation operation_of(composed_call::name what) {
    switch (what) {
        case composed_call::name::gatherv: return operation::gatherv;
        case composed_call::name::all_gatherv: return operation::all_gatherv;
        case composed_call::name::scatterv: return operation::scatterv;
        case composed_call::name::exchangev: return operation::exchangev;
        case composed_call::name::split: return operation::split;
        case composed_call::name::subteam: break;
    }
    return operation::subteam;
}

}  // namespace

composed_call::composed_call(const team_view& team, name what, std::source_location site) {
    const operation as = operation_of(what);
    const rank_context& context = caller_for(team, as, site);
    expect_may_begin(context, team, as, site);
    record_ = machine::begin_call(context, as, site, team.size_in_report);
}

composed_call::~composed_call() { machine::end_call(record_); }

operation operation_of(collective_kind what) {
    switch (what) {
        case collective_kind::barrier: return operation::barrier;
        case collective_kind::broadcast: return operation::broadcast;
        case collective_kind::reduce: return operation::reduce;
        case collective_kind::all_reduce: return operation::all_reduce;
        case collective_kind::reduce_scatter: return operation::reduce_scatter;
        case collective_kind::scan: return operation::scan;
        case collective_kind::exscan: return operation::exscan;
        case collective_kind::gather: return operation::gather;
        case collective_kind::all_gather: return operation::all_gather;
        case collective_kind::scatter: return operation::scatter;
        case collective_kind::exchange: break;
    }
    return operation::exchange;
}

/// @param type of elements that move as bytes; 0: any.
collectives::call_signature signature_of(const block_call& call, std::uint32_t type) {
    collectives::call_signature signature = signature_of(operation_of(call.what));
    if (call.what == collective_kind::barrier) return signature;
    signature.count = call.most != 0 ? call.most : call.count;
    signature.element_bytes = call.element_bytes;
    if (call.how != nullptr) {
        signature.type_hash = call.how->type_hash;
    } else {
        signature.type_hash = call.type_hash != 0 ? call.type_hash : type;
    }
    if (has_root(call.what)) signature.root = call.root;
    return signature;
}

void run_block_call(const team_view& team, const block_call& call, std::source_location site) {
    const operation what = operation_of(call.what);
    rank_context& context = caller_for(team, what, site);
    if (has_root(call.what)) expect_root(what, call.root, team, site);
    collectives::call_signature signature = signature_of(call, team.type);
    if (context.compares_calls) add_function(signature, call.how);
    run_on_terms(context, team, signature, site, [&] {
        team.state->run(call);
        collectives::fill_first(team.state->members(), call);
    });
}

future<> start_block_call(const team_view& team, started_call what, std::source_location site) {
    const operation name = operation_of(what.call.what);
    rank_context& context = caller_for(team, name, site);
    expect_may_begin(context, team, name, site);
    const recorded_call record(context, name, site);
    const machine::call_scope scope(context, name, site, machine::no_team);
    if (has_root(what.call.what)) expect_root(name, what.call.root, team, site);
    release_writes(context, site);
    collectives::call_signature signature = signature_of(what.call, team.type);
    signature.modes = collectives::modes_of(team.sync.entry, team.sync.exit);
    add_function(signature, what.call.how);
    signature.site = machine::encode_site(site);
    const bool meets =
        what.call.what == collective_kind::barrier || team.sync.entry == sync_mode::all;
    if (meets && !context.words_mapped) {
        context.transport->quiet(context);
    }
    future_state& state = make_state(0, site);
    future<> result(state);
    const collectives::placed_call mine = collectives::placed_start(context, signature);
    context.started->start(team.state->prepare(std::move(what), mine, team.sync, state));
    return result;
}

}  // namespace detail
}  // namespace selion
