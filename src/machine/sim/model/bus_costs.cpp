// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/model/bus_costs.hpp"

#include <algorithm>

namespace selion::machine::sim {
namespace {

/// Lowest number of a board that sits in an expander box.
std::uint32_t first_boxed_board(const bus_model& model, std::uint32_t ranks) {
    const std::uint32_t boards = ranks - 1;
    const std::uint32_t each_box = model.boards_per_expander;
    if (each_box == 0 || (model.slots != 0 && boards <= model.slots)) return ranks;
    // A box takes a slot, so it makes room for one board less than it holds.
    const std::uint32_t boxes =
        each_box == 1
            ? model.slots
            : std::min((boards - model.slots + each_box - 2) / (each_box - 1), model.slots);
    return model.slots - boxes + 1;
}

rate quicker(rate each, double factor) {
    return {static_cast<std::int64_t>(static_cast<double>(each.scaled) / factor + 0.5)};
}

}  // namespace

bus_costs::bus_costs(const bus_model& model, std::uint32_t ranks)
    : first_behind_box_(first_boxed_board(model, ranks)),
      setup_(model.setup),
      boxed_setup_(model.setup + model.expander),
      write_(quicker(model.write_per_byte, model.burst)),
      read_(quicker(model.read_per_byte, model.burst)),
      boxed_write_(
          quicker({model.write_per_byte.scaled + model.expander_per_byte.scaled}, model.burst)),
      boxed_read_(
          quicker({model.read_per_byte.scaled + model.expander_per_byte.scaled}, model.burst)) {}

}  // namespace selion::machine::sim
