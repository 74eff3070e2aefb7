// SPDX-License-Identifier: Apache-2.0
// Measures what the constants of a machine file say of a host, and prints one JSON object.
// `selion calibrate` makes a machine file of it.
#include <cstdio>
#include <exception>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core_costs.hpp"
#include "host_cores.hpp"
#include "memory_costs.hpp"
#include "pair_costs.hpp"

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t own_cache_bytes = 16 << 10;  // source and target in the first-level cache
constexpr std::uint64_t block_bytes = 1 << 20;

ordered_json as_json(const study::spread& figure) {
    return {{"median", study::detail::rounded(figure.median)},
            {"p5", study::detail::rounded(figure.p5)},
            {"p95", study::detail::rounded(figure.p95)},
            {"n", figure.n}};
}

ordered_json measure_core(const calibrate::effort& how, std::uint64_t large_bytes) {
    return {{"load_ns", as_json(calibrate::load_ns(how))},
            {"store_ns", as_json(calibrate::store_ns(how))},
            {"int_op_ns", as_json(calibrate::int_op_ns(how))},
            {"product_sum_ns", as_json(calibrate::product_sum_ns(how))},
            {"poll_ns", as_json(calibrate::poll_ns(how))},
            {"atomic_ns", as_json(calibrate::atomic_ns(how))},
            {"copied_byte_ns", as_json(calibrate::copied_byte_ns(how, own_cache_bytes))},
            {"block_byte_ns", as_json(calibrate::copied_byte_ns(how, block_bytes))},
            {"from_memory_ns", as_json(calibrate::from_memory_ns(how, large_bytes))}};
}

/// A host of one core, or of one cache, lacks some of them.
ordered_json measure_pairs(const calibrate::effort& how, const calibrate::host_cores& host) {
    ordered_json figures = ordered_json::object();
    const auto near = calibrate::pairs_of(host.cores, true, how.pairs);
    const auto far = calibrate::pairs_of(host.cores, false, how.pairs);
    if (!near.empty()) figures["near_ns"] = as_json(calibrate::crossing_ns(how, near));
    if (!far.empty()) figures["far_ns"] = as_json(calibrate::crossing_ns(how, far));
    if (!near.empty() || !far.empty()) {
        figures["flag_ns"] = as_json(calibrate::flag_ns(how, near.empty() ? far : near));
    }
    return figures;
}

void measure(const calibrate::effort& how) {
    const calibrate::host_cores host = calibrate::find_cores();
    const calibrate::node_shape shape = calibrate::shape_of(host.cores);
    const std::uint64_t large_bytes = calibrate::bytes_beyond_caches(host);
    ordered_json figures = measure_pairs(how, host);
    calibrate::bind_to(host.cores.front());
    figures.update(measure_core(how, large_bytes));
    figures["memory_bytes_per_ns"] = as_json(calibrate::bytes_per_ns(how, host.cores, large_bytes));
    const ordered_json result = {{"cores", host.cores.size()},
                                 {"sockets", shape.sockets},
                                 {"cores_per_socket", shape.cores_per_socket},
                                 {"cores_per_cache", shape.cores_per_cache},
                                 {"line_bytes", host.line_bytes},
                                 {"last_cache_bytes", host.last_cache_bytes},
                                 {"own_cache_bytes", own_cache_bytes},
                                 {"block_bytes", block_bytes},
                                 {"large_bytes", large_bytes},
                                 {"figures", figures}};
    std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) try {
    calibrate::effort how;
    if (argc == 2 && std::string_view(argv[1]) == "--quick") {
        how = {.samples = 51, .pairs = 1};
    } else if (argc != 1) {
        std::fprintf(stderr, "study_calibrate: legal arguments: none, --quick.\n");
        return 2;
    }
    measure(how);
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "study_calibrate: %s\n", problem.what());
    return 1;
}
