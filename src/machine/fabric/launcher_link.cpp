// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/launcher_link.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "machine/fabric/libraries.hpp"

namespace selion::machine::fabric {
namespace {

/// How long is waited for a card that must be there.
constexpr std::chrono::seconds longest_get{10};
/// How long servers have to say whose cards are there; some wait for those that are not.
constexpr std::chrono::seconds longest_look{1};

pid_t connected_process = 0;
/// Fixed before losses are told.
std::string connected_job;
launch_place connected_place;

/// A process that has died.
struct loss {
    std::uint32_t launched;  ///< the launcher's number of it
    const char* why;
};

/// What PMIx has told, and who wants to hear of it.
struct told_losses {
    std::mutex mutex;  ///< held also while the handler runs
    launcher_link::loss_handler handler = nullptr;
    std::vector<loss> dead;
    /// Numbers of processes by the launcher's; empty: they are the same.
    std::vector<std::uint32_t> number_of_launched;
    bool has_finished = false;  ///< the process leaves, and takes no notice any more

    void tell(const loss& one) const {
        handler(number_of_launched.empty() ? one.launched : number_of_launched[one.launched],
                one.why);
    }
};
told_losses losses;

void fill(pmix_proc_t& who, const std::string& job, pmix_rank_t rank) {
    who = {};
    job.copy(who.nspace, PMIX_MAX_NSLEN);
    who.rank = rank;
}

/// A value of the job or of one process; freed when it goes.
class asked_value {
public:
    asked_value(const std::string& job, pmix_rank_t rank, const char* key) {
        pmix_proc_t who;
        fill(who, job, rank);
        if (pmix().get(&who, key, nullptr, 0, &value_) != PMIX_SUCCESS) value_ = nullptr;
    }
    ~asked_value() {
        if (value_ == nullptr) return;
        pmix().value_destruct(value_);
        std::free(value_);
    }
    asked_value(const asked_value&) = delete;
    asked_value& operator=(const asked_value&) = delete;

    const pmix_value_t* get() const { return value_; }
    std::optional<std::uint32_t> number() const {
        if (value_ == nullptr || value_->type != PMIX_UINT32) return std::nullopt;
        return value_->data.uint32;
    }
    std::string text() const {
        if (value_ == nullptr || value_->type != PMIX_STRING || value_->data.string == nullptr) {
            return {};
        }
        return value_->data.string;
    }

private:
    pmix_value_t* value_ = nullptr;
};

/// Of "0,1,2". Empty: that is no list of ranks among which is the own one.
std::vector<std::uint32_t> read_ranks(std::string_view text, std::uint32_t own,
                                      std::uint32_t ranks) {
    std::vector<std::uint32_t> found;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::uint64_t rank = base::parse_whole(text.substr(0, end)).value_or(ranks);
        if (rank >= ranks) return {};
        found.push_back(static_cast<std::uint32_t>(rank));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::ranges::sort(found);
    if (!std::ranges::binary_search(found, own)) return {};
    return found;
}

/// The same for one host, and most likely another one for each.
std::uint32_t number_of_name(std::string_view host) {
    std::uint32_t hash = 0x811c9dc5;  // FNV-1a
    for (const char next : host) hash = (hash ^ static_cast<unsigned char>(next)) * 0x01000193;
    return hash;
}

/// Tests take the processes of one host for those of several: SELION_TEST_HOSTS says of how many.
void divide_host(launch_place& place) {
    const char* const wanted = std::getenv("SELION_TEST_HOSTS");
    if (wanted == nullptr) return;
    const auto parts = static_cast<std::uint32_t>(base::parse_whole(wanted).value_or(1));
    const auto index = static_cast<std::uint32_t>(
        std::ranges::lower_bound(place.near, place.process) - place.near.begin());
    place.part_of_host = index * parts / static_cast<std::uint32_t>(place.near.size());
    place.host_number = place.host_number * parts + place.part_of_host;
}

/// Runs when the process leaves by `exit`: a launcher takes one that says nothing for dead.
void say_goodbye() {
    if (getpid() != connected_process) return;
    {
        const std::lock_guard lock(losses.mutex);
        losses.has_finished = true;
    }
    pmix().finalize(nullptr, 0);
}

/// The launcher's number of the process that an event is about: the one that it names, else the one
/// that it comes from. Nothing: none of this job.
std::optional<std::uint32_t> affected_process(const pmix_proc_t* source,
                                              std::span<const pmix_info_t> more) {
    const pmix_proc_t* who = source;
    for (const pmix_info_t& one : more) {
        const bool is_name = std::string_view(one.key) == PMIX_EVENT_AFFECTED_PROC;
        if (is_name && one.value.type == PMIX_PROC) who = one.value.data.proc;
    }
    if (who == nullptr || connected_job != who->nspace) return std::nullopt;
    return who->rank < connected_place.processes ? std::optional(who->rank) : std::nullopt;
}

/// Between jobs nobody else would end the process.
[[noreturn]] void end_without_launcher(const char* why) {
    base::say(fmt::format("process {} of {} on host {}: the launcher is gone ({}); it ends",
                          connected_place.process, connected_place.processes, connected_place.host,
                          why));
    _exit(1);
}

void on_event(size_t, pmix_status_t what, const pmix_proc_t* source, pmix_info_t more[],
              size_t count, pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done,
              void* done_data) {
    const bool is_launcher = what == PMIX_ERR_LOST_CONNECTION_TO_SERVER ||
                             what == PMIX_ERR_LOST_CONNECTION || what == PMIX_ERR_UNREACH;
    const char* const why = pmix().error_string(what);
    const std::lock_guard lock(losses.mutex);
    if (is_launcher) {
        if (losses.handler != nullptr) {
            losses.handler(std::nullopt, why);
        } else if (!losses.has_finished) {
            end_without_launcher(why);
        }
    } else if (const auto launched = affected_process(source, std::span(more, count))) {
        losses.dead.push_back({*launched, why});
        if (losses.handler != nullptr) losses.tell(losses.dead.back());
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

/// How a fence has ended.
struct fence_end {
    pmix_status_t status = PMIX_SUCCESS;
    std::atomic<bool> is_there = false;
};

void note_end(pmix_status_t status, void* where) {
    auto& end = *static_cast<fence_end*>(where);
    end.status = status;
    // release: what came with the fence [fabric.fence]
    end.is_there.store(true, std::memory_order_release);
}

/// What servers answer to several questions; whoever asks may have gone before they do.
struct answers {
    std::mutex mutex;
    std::condition_variable all_there;
    std::size_t missing;
    std::vector<std::optional<std::vector<std::byte>>> found;
};

struct question {
    std::shared_ptr<answers> where;
    std::size_t index;
};

void note_answer(pmix_status_t status, pmix_value_t* value, void* asked) {
    const std::unique_ptr<question> own(static_cast<question*>(asked));
    const std::lock_guard lock(own->where->mutex);
    if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT) {
        const auto* const first = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
        own->where->found[own->index].emplace(first, first + value->data.bo.size);
    }
    if (--own->where->missing == 0) own->where->all_there.notify_all();
}

void register_for_losses() {
    std::array<pmix_status_t, 4> codes{PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTING,
                                       PMIX_ERR_LOST_CONNECTION_TO_SERVER,
                                       PMIX_ERR_LOST_CONNECTION};
    pmix().register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, nullptr,
                                  nullptr);
}

}  // namespace

result<launch_place> launcher_link::ask_place() {
    launch_place found;
    const auto all = asked_value(job_name_, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE).number();
    if (!all || *all == 0 || place_.process >= *all) {
        return error(status::system_failure,
                     "fabric: the launcher's PMIx server does not say how many ranks there are; "
                     "launch with mpirun of Open MPI 4 or 5, prterun, or srun --mpi=pmix");
    }
    found.process = place_.process;
    found.processes = *all;
    const auto near = asked_value(job_name_, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE).number();
    found.processes_on_host = std::max(near.value_or(1), 1u);
    utsname system{};
    uname(&system);
    found.host = system.nodename;
    found.host_number = asked_value(job_name_, found.process, PMIX_NODEID)
                            .number()
                            .value_or(number_of_name(found.host));
    found.near = read_ranks(asked_value(job_name_, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS).text(),
                            found.process, found.processes);
    if (found.near.empty()) found.near = {found.process};
    divide_host(found);
    return found;
}

result<launcher_link*> launcher_link::connect() {
    static launcher_link only;
    if (connected_process == getpid()) return only.with_place();
    const result<const pmix_calls*> loaded = load_pmix();
    if (!loaded) return loaded.trouble();
    pmix_proc_t self{};
    const pmix_status_t code = pmix().init(&self, nullptr, 0);
    if (code != PMIX_SUCCESS) {
        return error(
            status::system_failure,
            fmt::format("fabric: no PMIx server answers ({}); launch the program with `mpirun -n 4 "
                        "./program`, prterun or `srun --mpi=pmix`, or choose a machine of one host "
                        "such as SELION_MACHINE=processes:4",
                        pmix().error_string(code)));
    }
    connected_process = getpid();
    std::atexit(say_goodbye);
    only.job_name_ = self.nspace;
    only.place_.process = self.rank;
    return only.with_place();
}

/// Asks for the place once: a launcher that has not told it is asked again.
result<launcher_link*> launcher_link::with_place() {
    if (place_.processes != 0) return this;
    const result<launch_place> place = ask_place();
    if (!place) return place.trouble();
    place_ = place.value();
    connected_job = job_name_;
    connected_place = place_;
    register_for_losses();
    return this;
}

/// Launcher's numbers, host by host; empty: the launcher does not say where they are.
std::vector<std::uint32_t> launcher_link::ask_order() {
    std::map<std::string, std::uint32_t> number_of_host;
    std::vector<std::vector<std::uint32_t>> hosts;  // in the order of their first ranks
    for (std::uint32_t rank = 0; rank < place_.processes; ++rank) {
        // Not by PMIX_NODEID: servers know that of their own processes only.
        const std::string host = asked_value(job_name_, rank, PMIX_HOSTNAME).text();
        if (host.empty()) return {};
        const auto next = static_cast<std::uint32_t>(hosts.size());
        const auto [found, is_new] = number_of_host.try_emplace(host, next);
        if (is_new) hosts.emplace_back();
        hosts[found->second].push_back(rank);
    }
    std::vector<std::uint32_t> order;
    for (const auto& ranks : hosts) order.insert(order.end(), ranks.begin(), ranks.end());
    return order;
}

bool launcher_link::is_scattered() {
    const std::vector<std::uint32_t> order = ask_order();
    return !std::ranges::is_sorted(order);
}

void launcher_link::renumber() {
    if (!order_.empty()) return;
    order_ = ask_order();
    if (order_.empty()) {
        throw error(status::system_failure,
                    "fabric: the launcher's PMIx server does not say on which hosts the processes "
                    "are, which are numbered host by host; start the job again, or list its hosts "
                    "so that the processes of each are neighbours");
    }
    const std::lock_guard lock(losses.mutex);
    std::vector<std::uint32_t>& number_of_launched = losses.number_of_launched;
    number_of_launched.resize(order_.size());
    for (std::uint32_t process = 0; process < order_.size(); ++process) {
        number_of_launched[order_[process]] = process;
    }
    place_.process = number_of_launched[place_.process];
    for (std::uint32_t& process : place_.near) process = number_of_launched[process];
    std::ranges::sort(place_.near);
}

void launcher_link::put(const std::string& key, std::span<const std::byte> bytes) {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
    value.data.bo.size = bytes.size();
    pmix_status_t code = pmix().put(PMIX_GLOBAL, key.c_str(), &value);
    if (code == PMIX_SUCCESS) code = pmix().commit();
    if (code == PMIX_SUCCESS) return;
    throw error(status::system_failure, fmt::format("fabric: the PMIx server takes no card ({})",
                                                    pmix().error_string(code)));
}

/// @return nothing of those who have put nothing, or of whom no server has told in time.
std::vector<std::optional<std::vector<std::byte>>> launcher_link::ask(
    std::span<const std::uint32_t> processes, const std::string& key,
    std::chrono::milliseconds most) {
    const auto all = std::make_shared<answers>();
    all->missing = processes.size();
    all->found.resize(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) {
        pmix_proc_t who;
        fill(who, job_name_, launcher_rank(processes[i]));
        auto one = std::make_unique<question>(all, i);
        const pmix_status_t code =
            pmix().get_later(&who, key.c_str(), nullptr, 0, note_answer, one.get());
        if (code != PMIX_SUCCESS) {
            note_answer(code, nullptr, one.release());
        } else {
            one.release();
        }
    }
    std::unique_lock lock(all->mutex);
    all->all_there.wait_for(lock, most, [&] { return all->missing == 0; });
    return all->found;
}

std::optional<std::vector<std::byte>> launcher_link::get(std::uint32_t process,
                                                         const std::string& key) {
    return ask(std::span(&process, 1), key, longest_get).front();
}

std::vector<bool> launcher_link::have_put(std::span<const std::uint32_t> processes,
                                          const std::string& key) {
    std::vector<bool> found;
    for (const auto& answer : ask(processes, key, longest_look)) {
        found.push_back(answer.has_value());
    }
    return found;
}

std::string launcher_link::host_of(std::uint32_t process) {
    {
        const std::lock_guard lock(known_mutex_);
        if (const auto known = known_hosts_.find(process); known != known_hosts_.end()) {
            return known->second;
        }
    }
    const std::string host = asked_value(job_name_, launcher_rank(process), PMIX_HOSTNAME).text();
    if (host.empty()) return "an unknown host";
    const std::lock_guard lock(known_mutex_);
    return known_hosts_[process] = host;
}

void launcher_link::fence(const std::function<void()>& serve) {
    pmix_proc_t all;
    fill(all, job_name_, PMIX_RANK_WILDCARD);
    pmix_info_t collect{};
    constexpr std::string_view key = PMIX_COLLECT_DATA;
    key.copy(collect.key, PMIX_MAX_KEYLEN);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    fence_end end;
    const auto expect_good = [](pmix_status_t code, const char* what) {
        if (code == PMIX_SUCCESS) return;
        throw error(status::system_failure,
                    fmt::format("fabric: {} ({})", what, pmix().error_string(code)));
    };
    expect_good(pmix().fence(&all, 1, &collect, 1, note_end, &end),
                "the PMIx server refuses a fence");
    // acquire: what came with it [fabric.fence]
    while (!end.is_there.load(std::memory_order_acquire)) serve();
    expect_good(end.status, "a fence has ended without all processes: one has died");
}

void launcher_link::abort(int status) {
    if (connected_process == getpid()) pmix().abort(status, "", nullptr, 0);
}

void launcher_link::on_loss(loss_handler handler) {
    const std::lock_guard lock(losses.mutex);
    losses.handler = handler;
    if (handler == nullptr) return;
    for (const loss& one : losses.dead) losses.tell(one);
}

}  // namespace selion::machine::fabric
