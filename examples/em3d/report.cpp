// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "json_text.hpp"

namespace em3d {

namespace {

/// The value below which `share` of the times lie. @pre there are some.
double quantile_us(std::vector<std::int64_t> times_ns, double share) {
    std::sort(times_ns.begin(), times_ns.end());
    const double last = static_cast<double>(times_ns.size() - 1);
    return static_cast<double>(times_ns[static_cast<std::size_t>(share * last + 0.5)]) / 1000;
}

std::string fixed(double number, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
    return text;
}

std::string hex(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(number));
    return text;
}

double reads_per_iteration(const report& run) {
    return static_cast<double>(run.remote_reads) / static_cast<double>(run.iteration_ns.size());
}

std::string text_line(const std::string& name, const std::string& value) {
    constexpr std::size_t column = 20;
    return "  " + name + std::string(column - name.size(), ' ') + value + "\n";
}

}  // namespace

std::string as_text(const report& run) {
    const double cut_share = 100 * static_cast<double>(run.cut) /
                             static_cast<double>(std::max<std::uint64_t>(run.dependencies, 1));
    std::string text = "em3d on " + run.machine + "\n";
    text += text_line("ranks", std::to_string(run.ranks));
    text += text_line("graph", run.graph);
    text += text_line("electric nodes", std::to_string(run.electric_nodes));
    text += text_line("magnetic nodes", std::to_string(run.magnetic_nodes));
    text +=
        text_line("edges cut", std::to_string(run.cut) + " of " + std::to_string(run.dependencies) +
                                   " dependencies (" + fixed(cut_share, 1) + " %)");
    text += text_line("time per iteration",
                      fixed(quantile_us(run.iteration_ns, 0.5), 1) + " us, median of " +
                          std::to_string(run.iteration_ns.size()) +
                          " (5 %: " + fixed(quantile_us(run.iteration_ns, 0.05), 1) +
                          ", 95 %: " + fixed(quantile_us(run.iteration_ns, 0.95), 1) + ")");
    text += text_line("remote reads", fixed(reads_per_iteration(run), 0) + " per iteration");
    text += text_line("checksum", hex(run.checksum));
    if (run.difference) {
        text +=
            text_line("verified", run.difference->empty()
                                      ? "every node equals the sequential reference, bit for bit"
                                      : "DIFFERENT: " + *run.difference);
    }
    return text;
}

std::string as_json(const report& run) {
    std::string verified = "null";
    if (run.difference) verified = run.difference->empty() ? "true" : "false";
    std::string row = "{\"program\": \"em3d\", \"graph\": " + json_string(run.graph);
    row += ", \"machine\": " + json_string(run.machine);
    row += ", \"ranks\": " + std::to_string(run.ranks);
    row += ", \"electric_nodes\": " + std::to_string(run.electric_nodes);
    row += ", \"magnetic_nodes\": " + std::to_string(run.magnetic_nodes);
    row += ", \"dependencies\": " + std::to_string(run.dependencies);
    row += ", \"edges_cut\": " + std::to_string(run.cut);
    row += ", \"iterations\": " + std::to_string(run.iteration_ns.size());
    row += ", \"iteration_us\": " + fixed(quantile_us(run.iteration_ns, 0.5), 3);
    row += ", \"iteration_p5_us\": " + fixed(quantile_us(run.iteration_ns, 0.05), 3);
    row += ", \"iteration_p95_us\": " + fixed(quantile_us(run.iteration_ns, 0.95), 3);
    row += ", \"remote_reads_per_iteration\": " + fixed(reads_per_iteration(run), 0);
    row += ", \"checksum\": \"" + hex(run.checksum) + "\"";
    row += ", \"verified\": " + verified;
    if (run.difference && !run.difference->empty()) {
        row += ", \"difference\": " + json_string(*run.difference);
    }
    return row + "}\n";
}

}  // namespace em3d
