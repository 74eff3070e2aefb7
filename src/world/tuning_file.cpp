// SPDX-License-Identifier: Apache-2.0
#include "world/tuning_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/host/host.hpp"
#include "selion/tuning.hpp"

namespace selion {
namespace {

/// The folder of this program's files in the user's cache folder; empty where there is none.
std::string cache_folder() {
    const char* const named = std::getenv("XDG_CACHE_HOME");
    if (named != nullptr && *named == '/') return std::string(named) + "/selion";
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return {};
    return std::string(home) + "/.cache/selion";
}

std::string path_in(const std::string& folder, const std::string& host) {
    return folder.empty() ? "" : fmt::format("{}/tuning-{}.json", folder, host);
}

/// What the user has set instead of the usual place; empty: no table at all.
std::optional<std::string> named_path() {
    const auto named = base::knob_text(base::knob::tuning);
    if (!named) return std::nullopt;
    if (!base::knob_is_on(base::knob::tuning)) return "";
    if (base::is_switch_word(*named)) return std::nullopt;
    return named;
}

}  // namespace

tuning_place usual_tuning_place() {
    const std::string host = machine::host_fingerprint();
    return {host, path_in(cache_folder(), host)};
}

std::string tuning_path_in_use() {
    if (const std::optional<std::string> named = named_path()) return *named;
    return usual_tuning_place().path;
}

namespace detail {
namespace {

/// Longer ones are none that `selion tune` has written.
constexpr std::size_t most_bytes = 16 * 1024 * 1024;

/// Not in the place of a standard file that is closed, and without waiting for who writes to a pipe
/// of that name. @return -1: it cannot be opened.
int open_apart(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || file > STDERR_FILENO) return file;
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return moved;
}

error unreadable() {
    return {status::system_failure, fmt::format("cannot be read ({})", std::strerror(errno))};
}

/// From the start on, whoever else has read it.
result<std::string> text_of(int file) {
    struct stat about {};
    if (fstat(file, &about) != 0) return unreadable();
    if (!S_ISREG(about.st_mode)) return error(status::system_failure, "is no ordinary file");
    std::string text;
    std::array<char, 16 * 1024> part;
    for (;;) {
        const ssize_t bytes =
            pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
        if (bytes < 0) return unreadable();
        if (bytes == 0) return text;
        text.append(part.data(), static_cast<std::size_t>(bytes));
        if (text.size() > most_bytes) {
            return error(status::system_failure,
                         fmt::format("has more than {} MiB", most_bytes >> 20));
        }
    }
}

result<collectives::tuning_table> read_table(int file, const machine_description& description) {
    const auto text = text_of(file);
    if (!text) return text.trouble();
    return collectives::tuning_table::read(text.value(), machine::host_fingerprint(),
                                           tuning_machine(description));
}

/// A launcher may have bound rank 0 to fewer processors than `selion tune` could use.
std::vector<std::string> own_hosts() {
    return {machine::host_fingerprint(), machine::whole_host_fingerprint()};
}

bool is_of_network(std::string_view row) {
    return collectives::machine_in(row).starts_with("fabric/");
}

void warn(const std::string& path, std::string_view why) {
    base::say(fmt::format("warning: the tuning file {} {}; it is ignored", path, why));
}

}  // namespace

tuning_file::tuning_file(const machine_description& description,
                         const machine::launcher& launcher) {
    if (description.kind == "fabric") {
        if (launcher.is_first_process()) find_networks();
        return;
    }
    // What is measured is memory that all share.
    if (!description.capabilities.real_time || !description.capabilities.shares_memory) return;
    if (launcher.is_first_process()) {
        find(description);
    } else if (launcher.handed_file() >= 0) {
        take(launcher.handed_file(), description);
    }
}

tuning_file::~tuning_file() {
    if (file_ >= 0) close(file_);
}

bool tuning_file::open_named_or_usual() {
    const std::optional<std::string> named = named_path();
    if (named && named->empty()) return false;
    is_named_ = named.has_value();
    if (is_named_) {
        path_ = *named;
        file_ = open_apart(path_);
        if (file_ < 0) warn(path_, fmt::format("cannot be opened ({})", std::strerror(errno)));
        return file_ >= 0;
    }
    const std::string folder = cache_folder();
    // Asked first, because it is cheaper than to ask the processor for its name.
    if (folder.empty() || access(folder.c_str(), X_OK) != 0) return false;
    path_ = path_in(folder, machine::host_fingerprint());
    file_ = open_apart(path_);
    return file_ >= 0;
}

/// Where the launcher has bound this process to some of the host's processors.
bool tuning_file::open_usual_of_whole_host() {
    if (is_named_ || path_.empty()) return false;
    path_ = path_in(cache_folder(), machine::whole_host_fingerprint());
    file_ = open_apart(path_);
    return file_ >= 0;
}

void tuning_file::find(const machine_description& description) {
    if (!open_named_or_usual()) return;
    auto read = read_table(file_, description);
    if (read) {
        table_.emplace(std::move(read).value());
        base::say_verbose(fmt::format("collectives go as {} says where it does", path_));
        return;
    }
    warn(path_, read.trouble().what());
    close(std::exchange(file_, -1));
}

void tuning_file::find_networks() {
    if (!open_named_or_usual() && !open_usual_of_whole_host()) return;
    auto text = text_of(file_);
    close(std::exchange(file_, -1));
    if (!text) return warn(path_, text.trouble().what());
    const std::vector<std::string> hosts = own_hosts();
    const auto rows = collectives::tuning_table::rows_in(text.value(), hosts);
    if (!rows) return warn(path_, rows.trouble().what());
    if (std::ranges::any_of(rows.value(), is_of_network)) text_ = std::move(text).value();
}

std::string tuning_file::rows_of_network(const std::string& name) const {
    const std::vector<std::string> hosts = own_hosts();
    const auto rows = collectives::tuning_table::rows_in(text_, hosts).value();
    const auto table = collectives::tuning_table::of_rows(rows, name);
    if (!table) {
        warn(path_, table.trouble().what());
        return {};
    }
    std::string text;
    for (const std::string_view row : rows) {
        if (collectives::machine_in(row) == name) text += fmt::format("{}\n", row);
    }
    if (text.empty()) {
        const std::string_view other =
            collectives::machine_in(*std::ranges::find_if(rows, is_of_network));
        const std::string why =
            fmt::format("was measured on another network, {}, and this is {}", other, name);
        is_named_ ? warn(path_, why)
                  : base::say_verbose(fmt::format("the tuning file {} {}", path_, why));
        return {};
    }
    base::say_verbose(fmt::format("collectives go as {} says where it does", path_));
    return text;
}

void tuning_file::take(int handed, const machine_description& description) {
    fcntl(handed, F_SETFD, FD_CLOEXEC);
    auto read = read_table(handed, description);
    if (read) {
        table_.emplace(std::move(read).value());
        return;
    }
    throw error(status::system_failure,
                fmt::format("the tuning file {}, although the first process could use it: it has "
                            "changed meanwhile; start the job again",
                            read.trouble().what()));
}

}  // namespace detail
}  // namespace selion
