// SPDX-License-Identifier: Apache-2.0
#include "world/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "selion/error.hpp"

namespace selion::detail {
namespace {

bool is_switch(std::string_view value) {
    return value == "1" || value == "on" || value == "0" || value == "off";
}

std::string file_of(base::knob which) {
    const std::string value = base::knob_text(which).value_or("");
    if (value.empty() || is_switch(value)) return {};
    return std::filesystem::absolute(value);  // ranks may change their folder
}

/// One write per call, at the end of the file, so that parts of ranks do not mix.
bool write_to(const std::string& path, int flags, std::string_view text) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
    if (file < 0) return false;
    bool is_written = true;
    while (!text.empty() && is_written) {
        const ssize_t bytes = write(file, text.data(), text.size());
        is_written = bytes > 0;
        if (is_written) text.remove_prefix(static_cast<std::size_t>(bytes));
    }
    close(file);
    return is_written;
}

void begin_file(const std::string& path, base::knob which, std::string_view head) {
    if (path.empty() || write_to(path, O_TRUNC, head)) return;
    const auto name = base::knob_table()[static_cast<std::size_t>(which)].name;
    throw error(status::bad_argument, fmt::format("{}={}: cannot write this file ({})", name, path,
                                                  std::strerror(errno)));
}

}  // namespace

record_files::record_files()
    : trace_path_(file_of(base::knob::trace)),
      meters_path_(file_of(base::knob::meters)),
      records_(base::knob_is_on(base::knob::trace) || base::knob_is_on(base::knob::meters)) {}

void record_files::begin(const machine_description& description) const {
    begin_file(trace_path_, base::knob::trace,
               meters::trace_head(description.spec, description.ranks));
    begin_file(meters_path_, base::knob::meters, "");
}

void record_files::end() const {
    if (!trace_path_.empty()) write_to(trace_path_, 0, meters::trace_tail());
}

std::unique_ptr<meters::recorder> record_files::make_recorder() const {
    return records_ ? std::make_unique<meters::recorder>(!trace_path_.empty()) : nullptr;
}

void record_files::append(const meters::recorder& recorder, std::uint32_t rank) const {
    if (!trace_path_.empty()) write_to(trace_path_, 0, recorder.trace_events(rank));
    if (!meters_path_.empty()) write_to(meters_path_, 0, recorder.reading_lines(rank));
    if (recorder.dropped_events() != 0) {
        base::say(
            fmt::format("rank {}: the trace keeps {} events; {} more were counted but not "
                        "kept",
                        rank, meters::recorder::most_events, recorder.dropped_events()));
    }
}

}  // namespace selion::detail
