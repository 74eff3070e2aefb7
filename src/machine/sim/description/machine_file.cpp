// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/nearest_name.hpp"
#include "machine/sim/description/machine_reader.hpp"
#include "machine/sim/description/shipped_machines.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::size_t most_file_bytes = 1 << 20;

machine_model read(std::string_view text, const std::string& file, const option_map& options) {
    machine_document document = parse_document(text, file);
    check_tables(document);
    std::vector<option_note> notes = apply_options(document, options);
    machine_draft draft = read_tables(document);
    settle_shape(draft);
    draft.model.options = std::move(notes);
    return std::move(draft.model);
}

[[noreturn]] void reject_name(std::string_view name) {
    std::vector<std::string_view> names;
    for (const shipped_machine& each : shipped_machines()) names.push_back(each.name);
    reject(fmt::format("machine \"sim:{}\"", name),
           fmt::format("there is no such machine{}; those that come along are {}; a file of your "
                       "own is named with a / or with .toml at the end",
                       base::did_you_mean(name, names), fmt::join(names, ", ")));
}

/// A file, as long as it is read.
class open_file {
public:
    /// Does not wait for who writes to a pipe of that name.
    explicit open_file(const std::string& path)
        : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~open_file() {
        if (number_ >= 0) close(number_);
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    int number() const { return number_; }

private:
    int number_;
};

std::string_view kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe (FIFO)";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "no file";
}

std::string contents_of(const std::string& path) {
    const auto fail = [&](std::string_view what) {
        reject(path, fmt::format("{}: {}", what, std::strerror(errno)));
    };
    const open_file file(path);
    struct stat about {};
    if (file.number() < 0) fail("cannot be opened");
    if (fstat(file.number(), &about) != 0) fail("cannot be read");
    if (!S_ISREG(about.st_mode)) {
        reject(path, fmt::format("is {}; a machine is read from an ordinary file",
                                 kind_of(about.st_mode)));
    }
    std::string text;
    std::array<char, 16 * 1024> part;
    for (;;) {
        const ssize_t bytes = ::read(file.number(), part.data(), part.size());
        if (bytes < 0) fail("cannot be read");
        if (bytes <= 0) return text;
        text.append(part.data(), static_cast<std::size_t>(bytes));
        if (text.size() > most_file_bytes) {
            reject(path, fmt::format("is larger than {} bytes, the most of a machine file",
                                     most_file_bytes));
        }
    }
}

}  // namespace

result<machine_model> read_machine(std::string_view text, const std::string& file,
                                   const option_map& options) try {
    return read(text, file, options);
} catch (const error& trouble) {
    return trouble;
}

result<machine_model> load_machine(std::string_view name_or_path, const option_map& options) try {
    const bool is_path =
        name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".toml");
    if (is_path) {
        const std::string path(name_or_path);
        return read(contents_of(path), path, options);
    }
    const auto shipped = shipped_machines();
    const auto place = std::ranges::find(shipped, name_or_path, &shipped_machine::name);
    if (place == shipped.end()) reject_name(name_or_path);
    return read(place->text, fmt::format("{}.toml", name_or_path), options);
} catch (const error& trouble) {
    return trouble;
}

}  // namespace selion::machine::sim
