// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/nearest_name.hpp"
#include "machine/sim/description/machine_reader.hpp"
#include "machine/sim/description/shipped_machines.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::streamsize most_file_bytes = 1 << 20;

machine_model read(std::string_view text, const std::string& file, const option_map& options) {
    machine_document document = parse_document(text, file);
    check_tables(document);
    std::vector<option_note> notes = apply_options(document, options);
    machine_draft draft = read_tables(document);
    settle_shape(draft, document);
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

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) reject(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    std::string text(static_cast<std::size_t>(most_file_bytes) + 1, '\0');
    file.read(text.data(), most_file_bytes + 1);
    if (file.bad()) reject(path, "cannot be read");
    if (file.gcount() > most_file_bytes) {
        reject(path,
               fmt::format("is larger than {} bytes, the most of a machine file", most_file_bytes));
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
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
