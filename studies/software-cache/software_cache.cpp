// SPDX-License-Identifier: Apache-2.0
// Study `software-cache`: a cache of remote blocks under Split-C's arrays. See software-cache.md.
#include <cstdio>
#include <string>

#include <selion/selion.hpp>

#include "field_tables.hpp"
#include "harness/arguments.hpp"
#include "harness/rows.hpp"
#include "latency.hpp"
#include "tables.hpp"

namespace {

software_cache::measurement read_point(const study::arguments& given) {
    const std::string& experiment = given.experiment;
    if (experiment == "table-1" || experiment == "table-2") {
        return software_cache::read_naive_counts(given.params, given.seed, experiment == "table-1");
    }
    if (experiment == "table-3" || experiment == "skewed-table-3") {
        return software_cache::read_version_counts(given.params, given.seed);
    }
    if (experiment == "start-skew") {
        return software_cache::read_start_skew(given.params, given.seed);
    }
    const bool is_rate = experiment == "prefetch" || experiment == "figure-8" ||
                         experiment == "figure-9" || experiment == "figure-10";
    if (is_rate) {
        return software_cache::read_rate(given.params, given.seed);
    }
    if (experiment == "read-latency" || experiment == "write-latency") {
        return software_cache::read_latency(given.params, experiment == "write-latency");
    }
    using software_cache::field_table;
    software_cache::setting how{.base_offset = software_cache::read_base_offset(given.params),
                                .seed = given.seed};
    how.block_bytes =
        software_cache::read_block_bytes(given.params, experiment.starts_with("figure"));
    if (experiment == "table-4" || experiment == "table-5") {
        const auto which = experiment == "table-4" ? field_table::remote : field_table::local;
        return software_cache::read_field_counts(given.params, how, which);
    }
    if (experiment == "update") software_cache::read_writes(given.params, how);
    if (experiment == "figure-11" || experiment == "figure-12" || experiment == "update") {
        how.has_statistics = false;
        return software_cache::read_field_time(given.params, how);
    }
    throw study::bad_argument("'" + experiment + "' is no experiment.");
}

}  // namespace

int main(int argc, char** argv) try {
    const study::arguments given = study::parse_arguments(argc, argv);
    const software_cache::measurement measure = read_point(given);
    return selion::run(argc, argv, [&](selion::world& world) {
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            measure(world, {given.params, world.size(), repetition});
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_software_cache: %s\n", mistake.what());
    return 2;
}
