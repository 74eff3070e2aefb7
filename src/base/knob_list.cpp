// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.hpp"
#include "selion/error.hpp"
#include "selion/machines.hpp"

namespace selion {

std::vector<knob_info> knobs() {
    std::vector<knob_info> all;
    for (const base::knob_entry& entry : base::knob_table()) {
        all.push_back({std::string(entry.name), std::string(entry.default_value),
                       std::string(entry.help), base::knob_text(entry.which).value_or("")});
    }
    return all;
}

std::string knob_trouble() {
    try {
        base::expect_legal_knobs();
    } catch (const error& trouble) {
        return trouble.what();
    }
    return "";
}

}  // namespace selion
