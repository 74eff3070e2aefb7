// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/worker_services.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "selion/error.hpp"

namespace selion::machine::workers {
namespace {

/// A file that is read from its beginning to its end, or the number of the error that prevents it.
class opened_file {
public:
    explicit opened_file(const std::string& path)
        : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) trouble_ = errno;
    }
    ~opened_file() {
        if (file_ >= 0) close(file_);
    }
    opened_file(const opened_file&) = delete;
    opened_file& operator=(const opened_file&) = delete;

    /// @return bytes that have been read: fewer than there is room for only at its end; or,
    /// negative, the number of the error.
    std::int64_t read_on(std::span<char> into) {
        std::size_t count = 0;
        while (trouble_ == 0 && count < into.size()) {
            const ssize_t more = read(file_, into.data() + count, into.size() - count);
            if (more == 0) break;
            if (more > 0) count += static_cast<std::size_t>(more);
            if (more < 0 && errno != EINTR) trouble_ = errno;
        }
        return trouble_ != 0 ? -trouble_ : static_cast<std::int64_t>(count);
    }
    void go_to(std::uint64_t offset) {
        if (offset == 0 || trouble_ != 0) return;
        if (lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0) trouble_ = errno;
    }

private:
    int file_;
    int trouble_ = 0;
};

}  // namespace

void print_here(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

std::int64_t read_part_here(const std::string& path, std::uint64_t offset, std::span<char> into) {
    opened_file file(path);
    file.go_to(offset);
    return file.read_on(into);
}

std::string read_parts(
    const std::string& path, std::size_t part_bytes,
    const std::function<std::int64_t(std::uint64_t offset, std::span<char> into)>& read) {
    std::string content;
    while (true) {
        const std::size_t start = content.size();
        content.resize(start + part_bytes);
        const std::int64_t count = read(start, std::span(content).subspan(start));
        if (count < 0) {
            throw error(status::bad_argument, fmt::format("cannot read \"{}\": {}", path,
                                                          std::strerror(static_cast<int>(-count))));
        }
        content.resize(start + static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < part_bytes) return content;
    }
}

std::string read_here(const std::string& path) {
    constexpr std::size_t part_bytes = 1 << 20;
    opened_file file(path);  // once: what comes out of a pipe cannot be read again
    return read_parts(path, part_bytes,
                      [&](std::uint64_t, std::span<char> into) { return file.read_on(into); });
}

}  // namespace selion::machine::workers

namespace selion {

std::uint32_t worker::number() const noexcept { return services_.number(); }
bool worker::is_cancelled() const noexcept { return services_.is_cancelled(); }
void worker::print(std::string_view text) { services_.print(text); }
std::string worker::read_file(const std::string& path) { return services_.read_file(path); }

}  // namespace selion
