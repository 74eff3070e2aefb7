// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/launcher_link.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.hpp"
#include "machine/fabric/libraries.hpp"

namespace selion::machine::fabric {
namespace {

std::atomic<launcher_link::loss_handler> registered = nullptr;
/// Numbers of processes by the launcher's; empty: they are the same. Fixed before losses are told.
std::vector<std::uint32_t> number_of_launched;
pid_t connected_process = 0;
/// Fixed before losses are told, too.
std::string connected_job;
std::uint32_t launched_processes = 0;

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
    if (getpid() == connected_process) pmix().finalize(nullptr, 0);
}

/// The process that an event is about: the one that it names, else the one that it comes from.
/// Nothing: none of this job.
std::optional<std::uint32_t> affected_process(const pmix_proc_t* source,
                                              std::span<const pmix_info_t> more) {
    const pmix_proc_t* who = source;
    for (const pmix_info_t& one : more) {
        const bool is_name = std::string_view(one.key) == PMIX_EVENT_AFFECTED_PROC;
        if (is_name && one.value.type == PMIX_PROC) who = one.value.data.proc;
    }
    if (who == nullptr || connected_job != who->nspace || who->rank >= launched_processes) {
        return std::nullopt;
    }
    return number_of_launched.empty() ? who->rank : number_of_launched[who->rank];
}

void on_event(size_t, pmix_status_t what, const pmix_proc_t* source, pmix_info_t more[],
              size_t count, pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done,
              void* done_data) {
    // acquire: what the handler uses [fabric.loss]
    const launcher_link::loss_handler handler = registered.load(std::memory_order_acquire);
    const bool is_launcher = what == PMIX_ERR_LOST_CONNECTION_TO_SERVER ||
                             what == PMIX_ERR_LOST_CONNECTION || what == PMIX_ERR_UNREACH;
    if (handler != nullptr) {
        if (is_launcher) {
            handler(std::nullopt, pmix().error_string(what));
        } else if (const auto process = affected_process(source, std::span(more, count))) {
            handler(process, pmix().error_string(what));
        }
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
    if (connected_process == getpid()) return &only;
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
    const result<launch_place> place = only.ask_place();
    if (!place) return place.trouble();
    only.place_ = place.value();
    return &only;
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

std::optional<std::vector<std::byte>> launcher_link::get(std::uint32_t process,
                                                         const std::string& key) {
    const asked_value value(job_name_, launcher_rank(process), key.c_str());
    if (value.get() == nullptr || value.get()->type != PMIX_BYTE_OBJECT) return std::nullopt;
    const auto* const first = reinterpret_cast<const std::byte*>(value.get()->data.bo.bytes);
    return std::vector<std::byte>(first, first + value.get()->data.bo.size);
}

bool launcher_link::has_put(std::uint32_t process, const std::string& key) {
    pmix_proc_t who;
    fill(who, job_name_, launcher_rank(process));
    pmix_info_t limit{};
    constexpr std::string_view name = PMIX_TIMEOUT;
    name.copy(limit.key, PMIX_MAX_KEYLEN);
    limit.value.type = PMIX_INT;
    limit.value.data.integer = 1;
    pmix_value_t* value = nullptr;
    if (pmix().get(&who, key.c_str(), &limit, 1, &value) != PMIX_SUCCESS) return false;
    pmix().value_destruct(value);
    std::free(value);
    return true;
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
    const auto expect_good = [](pmix_status_t code) {
        if (code == PMIX_SUCCESS) return;
        throw error(
            status::system_failure,
            fmt::format("fabric: the PMIx server refuses a fence ({})", pmix().error_string(code)));
    };
    expect_good(pmix().fence(&all, 1, &collect, 1, note_end, &end));
    // acquire: what came with it [fabric.fence]
    while (!end.is_there.load(std::memory_order_acquire)) serve();
    expect_good(end.status);
}

void launcher_link::abort(int status) {
    if (connected_process == getpid()) pmix().abort(status, "", nullptr, 0);
}

void launcher_link::on_loss(loss_handler handler) {
    // release: what it uses; pairs with the thread that calls it [fabric.loss]
    registered.store(handler, std::memory_order_release);
    static bool has_registered = false;
    if (std::exchange(has_registered, true)) return;
    connected_job = job_name_;
    launched_processes = place_.processes;
    std::array<pmix_status_t, 4> codes{PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTING,
                                       PMIX_ERR_LOST_CONNECTION_TO_SERVER,
                                       PMIX_ERR_LOST_CONNECTION};
    pmix().register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, nullptr,
                                  nullptr);
}

}  // namespace selion::machine::fabric
