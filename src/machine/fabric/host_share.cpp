// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/host_share.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/units.hpp"
#include "machine/host/memory_file.hpp"
#include "machine/host/process_memory.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/mail_area.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::chrono::microseconds seal_nap{100};

error refusal(const share_offer& offer, const char* what) {
    // The kernel keeps the files of a process for root whose program its user cannot read.
    const bool is_kept_apart = errno == EACCES || errno == EPERM;
    return {status::system_failure,
            fmt::format("fabric: the memory of process {} on this host, which its ranks share, "
                        "cannot be {} ({}); {}let them use the network with "
                        "SELION_MACHINE=fabric,direct=off",
                        offer.process, what, std::strerror(errno),
                        is_kept_apart ? "let the program's user read its file (chmod +r), which "
                                        "must have no capabilities, or "
                                      : "")};
}

error gone(const share_offer& offer) {
    return {status::rank_dead,
            fmt::format("fabric: process {}, whose memory the ranks of this host were to share, "
                        "has ended",
                        offer.process)};
}

/// Processes that see each other by number have it in common; 0: nobody can be seen.
std::uint64_t view_of_processes() {
    struct stat view {};
    return stat("/proc/self/ns/pid", &view) == 0 ? view.st_ino : 0;
}

result<int> open_offered(const share_offer& offer) {
    const std::string path = fmt::format("/proc/{}/fd/{}", offer.process, offer.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return gone(offer);
    if (file < 0) return refusal(offer, "opened");
    struct stat found {};
    if (fstat(file, &found) == 0 && found.st_dev == offer.device && found.st_ino == offer.inode) {
        return file;
    }
    close(file);
    errno = ESTALE;
    return refusal(offer, "found");
}

/// Waits until the process that has offered the file has filled it.
result<node::shared_mapping> join(const share_offer& offer) {
    const result<int> file = open_offered(offer);
    if (!file) return file.trouble();
    while (!is_sealed_memory_file(file.value())) {
        // A launcher that goes on without it does not end this one.
        if (kill(offer.process, 0) != 0 && errno == ESRCH) return gone(offer);
        std::this_thread::sleep_for(seal_nap);
    }
    result<node::shared_mapping> joined = node::shared_mapping::attach(file.value());
    if (!joined) {
        close(file.value());
        return joined;
    }
    node::shared_mapping mapped = std::move(joined).value();
    mapped.close_file();  // whoever comes later asks the first rank's process
    return mapped;
}

}  // namespace

host_share::~host_share() {
    if (file_ >= 0) close(file_);
}

share_offer host_share::offer(bool is_direct) {
    own_.has_barriers = node::register_heavy_fences() ? 1 : 0;
    own_.process = getpid();
    own_.processes_seen = view_of_processes();
    if (!is_direct || place_.near.size() == 1) return own_;
    file_ = make_memory_file("selion");
    struct stat made {};
    if (file_ < 0 || fstat(file_, &made) != 0) return own_;
    own_.view = view_of_processes();
    own_.device = made.st_dev;
    own_.inode = made.st_ino;
    own_.file = file_;
    own_.part_of_host = place_.part_of_host;
    return own_;
}

share_offer host_share::offer_of(std::uint32_t process) const {
    return process == place_.process ? own_ : offer_of_(process);
}

/// Where ranks may die, none shares a ring with others: it might leave a gap there.
void host_share::find_near(std::uint32_t ranks_per_process, const job_terms& terms) {
    first_near_ = place_.process;
    near_count_ = 1;
    const bool have_own_rings = place_.near.size() * ranks_per_process <= node::most_single_senders;
    if (own_.view == 0 || (terms.reports_deaths != 0 && !have_own_rings)) return;
    const auto shares = [&](std::uint32_t process) {
        return std::ranges::binary_search(place_.near, process) && offer_of(process).meets(own_);
    };
    while (first_near_ != 0 && shares(first_near_ - 1)) {
        --first_near_;
        ++near_count_;
    }
    while (shares(first_near_ + near_count_)) ++near_count_;
}

bool host_share::have_barriers() const {
    for (std::uint32_t i = 0; i < near_count_; ++i) {
        if (offer_of(first_near_ + i).has_barriers == 0) return false;
    }
    return true;
}

result<node::shared_mapping> host_share::create(const node::mapping_plan& plan,
                                                std::uint32_t thread_level) {
    result<node::shared_mapping> made = near_count_ == 1
                                            ? node::shared_mapping::create(plan)
                                            : node::shared_mapping::create_in(file_, plan);
    if (!made) return made;
    node::control_block& control = made.value().control();
    control.memory_limit = control.memory_limit / place_.processes_on_host * near_count_;
    control.thread_level = thread_level;
    if (near_count_ == 1) return made;
    if (seal_memory_file(std::exchange(file_, -1))) return made;
    return error(status::system_failure,
                 fmt::format("fabric: memory that ranks of this host share cannot be sealed ({}); "
                             "let them use the network with SELION_MACHINE=fabric,direct=off",
                             std::strerror(errno)));
}

result<std::uint64_t> host_share::reserve_bytes(const node::job_setting& setting) const {
    node::mapping_plan plan = setting.plan(false, false);
    plan.shape.processes = setting.is_direct ? place_.processes_on_host : 1;
    return node::shared_mapping::reserve_of(plan);
}

result<node::shared_mapping> host_share::make_mapping(const node::job_setting& setting,
                                                      const job_terms& terms) {
    find_near(setting.shape.ranks_per_process, terms);
    const bool joins = first_near_ != place_.process;
    node::mapping_plan plan = setting.plan(false, !joins && !have_barriers());
    plan.shape.processes = near_count_;
    auto made = joins ? join(offer_of(first_near_)) : create(plan, terms.thread_level);
    if (file_ >= 0) close(std::exchange(file_, -1));
    // Long blocks are read where they lie.
    if (near_count_ > 1) permit_reading_by(getppid());
    if (!made || made.value().control().reserve_bytes == terms.reserve_bytes) return made;
    return error(status::out_of_memory,
                 fmt::format("fabric: rank {} of {} on host {} cannot reserve {} of addresses, as "
                             "rank 0 does; set SELION_HEAP to a smaller size",
                             place_.process * plan.shape.ranks_per_process,
                             place_.processes * plan.shape.ranks_per_process, place_.host,
                             base::bytes_text(terms.reserve_bytes)));
}

std::vector<std::pair<std::uint32_t, std::int32_t>> host_share::seen_beside() const {
    std::vector<std::pair<std::uint32_t, std::int32_t>> found;
    for (const std::uint32_t process : place_.near) {
        if (process == place_.process) continue;
        const share_offer other = offer_of(process);
        const bool is_seen =
            own_.processes_seen != 0 && own_.processes_seen == other.processes_seen;
        if (is_seen) found.emplace_back(process, other.process);
    }
    return found;
}

}  // namespace selion::machine::fabric
