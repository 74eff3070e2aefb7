// SPDX-License-Identifier: Apache-2.0
#include "world/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "meters/record/trace_text.hpp"
#include "world/locked_file.hpp"

namespace selion::detail {
namespace {

const auto tail_bytes = static_cast<off_t>(meters::trace_tail().size());

/// Where the next part belongs: in place of the last lines, or after the last whole line.
off_t end_of_parts(const locked_file& file) {
    constexpr std::string_view line_end = "},\n";
    constexpr off_t block_bytes = 64 * 1024;
    const off_t start = std::max<off_t>(file.bytes() - tail_bytes, 0);
    if (file.read_at(start, meters::trace_tail().size()) == meters::trace_tail()) return start;
    for (off_t end = file.bytes(); end > 0; end -= block_bytes) {
        // A block reaches into the one behind it, so that no line's end falls between them.
        const off_t first = std::max<off_t>(end - block_bytes, 0);
        const std::string text =
            file.read_at(first, static_cast<std::size_t>(end - first) + line_end.size());
        const std::size_t found = text.rfind(line_end);
        if (found == std::string::npos) continue;
        return first + static_cast<off_t>(found + line_end.size());
    }
    return file.bytes();
}

}  // namespace

bool trace_file::begin(std::string_view head) const {
    const locked_file file(path_, O_CREAT | O_TRUNC);
    if (!file.is_open()) return false;
    std::string text(head);
    if (file.is_regular()) text += meters::trace_tail();
    return file.write_at(0, text);
}

bool trace_file::write(std::string_view lines) {
    const locked_file file(path_, 0);
    int trouble = errno;
    if (file.is_open() && !file.is_regular()) return file.write_at(0, lines);
    if (file.is_open()) {
        const off_t start = end_of_parts(file);
        std::string text(lines);
        text += meters::trace_tail();
        // Half a line may be longer than what takes its place.
        if (start + tail_bytes < file.bytes()) file.cut(start);
        if (file.write_at(start, text)) return true;
        trouble = errno;
        if (file.cut(start)) file.write_at(start, meters::trace_tail());
    }
    if (!has_complained_.exchange(true, std::memory_order_relaxed)) {
        base::say(
            fmt::format("the trace stops: cannot write {} ({})", path_, std::strerror(trouble)));
    }
    return false;
}

void trace_file::end() const {
    const locked_file file(path_, 0);
    if (!file.is_open()) return;
    if (!file.is_regular()) {
        file.write_at(0, meters::trace_tail());
        return;
    }
    const off_t start = end_of_parts(file);
    if (start + tail_bytes != file.bytes() && file.cut(start)) {
        file.write_at(start, meters::trace_tail());
    }
}

}  // namespace selion::detail
