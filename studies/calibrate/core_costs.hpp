// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/rows.hpp"
#include "timing.hpp"

/// What one core does alone, with data of its own first-level cache unless said otherwise.
/// The calling thread is bound to the core.
namespace calibrate {

study::spread load_ns(const effort& how);
study::spread store_ns(const effort& how);
study::spread int_op_ns(const effort& how);  ///< each needs the one before
/// A step of a sum of products, which waits for the step before: two loads, two flops.
study::spread product_sum_ns(const effort& how);
study::spread poll_ns(const effort& how);    ///< a pause and a load, as waiting ranks look
study::spread atomic_ns(const effort& how);  ///< a locked addition
study::spread copied_byte_ns(const effort& how, std::uint64_t block_bytes);

}  // namespace calibrate
