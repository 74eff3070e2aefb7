// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/worker_services.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "selion/error.hpp"

namespace selion::machine::workers {

void print_here(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

std::string read_here(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) {
        throw error(status::bad_argument,
                    fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
    return content;
}

}  // namespace selion::machine::workers

namespace selion {

std::uint32_t worker::number() const noexcept { return services_.number(); }
bool worker::is_cancelled() const noexcept { return services_.is_cancelled(); }
void worker::print(std::string_view text) { services_.print(text); }
std::string worker::read_file(const std::string& path) { return services_.read_file(path); }

}  // namespace selion
