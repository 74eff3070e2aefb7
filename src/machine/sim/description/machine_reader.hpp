// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/sim/description/machine_document.hpp"
#include "machine/sim/description/machine_schema.hpp"

namespace selion::machine::sim {

/// Whether all tables are ones that a machine file can have, and what stands in them is of the
/// right type and has a source.
/// @error bad_argument (thrown) names the mistake and what is legal.
void check_tables(const machine_document& document);

/// Whether a value has its key's type, and a source: numbers, truth values and lists need one.
/// @error bad_argument (thrown).
void check_value(quantity kind, const written_value& value);

/// What a document's keys mean, in ticks. Its shape is not yet settled.
/// @error bad_argument (thrown): unknown keys and units, wrong types, values out of range.
machine_draft read_tables(const machine_document& document);

/// Settles how many ranks there are, and where: what the file or options leave open follows from
/// the rest.
/// @error bad_argument (thrown): more ranks than the shape has room for, shapes that cannot be.
void settle_shape(machine_draft& draft);

}  // namespace selion::machine::sim
