// SPDX-License-Identifier: Apache-2.0
#include "world/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "meters/record/trace_text.hpp"

namespace selion::detail {
namespace {

const auto tail_bytes = static_cast<off_t>(meters::trace_tail().size());

/// Opening a pipe for reading as well would not wait for its reader.
int open_for_parts(const char* path, int flags) {
    struct stat facts {};
    const bool is_special = stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
    return open(path, (is_special ? O_WRONLY : O_RDWR) | O_CLOEXEC | flags, 0666);
}

/// An open file, locked against other writers where that is possible, until it is closed.
class locked_file {
public:
    locked_file(const std::string& path, int flags) : file_(open_for_parts(path.c_str(), flags)) {
        if (file_ < 0) return;
        while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
        }
        struct stat facts {};
        is_regular_ = fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode);
        bytes_ = is_regular_ ? facts.st_size : 0;
    }
    ~locked_file() {
        if (file_ >= 0) close(file_);
    }
    locked_file(const locked_file&) = delete;
    locked_file& operator=(const locked_file&) = delete;

    bool is_open() const { return file_ >= 0; }
    bool is_regular() const { return is_regular_; }
    off_t bytes() const { return bytes_; }

    std::string read_at(off_t start, std::size_t bytes) const {
        std::string text(bytes, '\0');
        const ssize_t found = pread(file_, text.data(), bytes, start);
        text.resize(found < 0 ? 0 : static_cast<std::size_t>(found));
        return text;
    }

    bool cut(off_t bytes) const { return ftruncate(file_, bytes) == 0; }

    /// @param start ignored unless the file is a regular one.
    bool write_at(off_t start, std::string_view text) const {
        while (!text.empty()) {
            const ssize_t bytes = is_regular_ ? pwrite(file_, text.data(), text.size(), start)
                                              : ::write(file_, text.data(), text.size());
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(bytes));
            start += bytes;
        }
        return true;
    }

private:
    int file_;
    bool is_regular_ = false;
    off_t bytes_ = 0;
};

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
