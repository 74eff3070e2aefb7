// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "machine/fabric/endpoint.hpp"
#include "machine/fabric/libraries.hpp"
#include "selion/error.hpp"

/// What libfabric offers, and what is chosen of it. For files that know libfabric.
namespace selion::machine::fabric {

struct info_closer {
    void operator()(fi_info* list) const { libfabric().freeinfo(list); }
};
using info_list = std::unique_ptr<fi_info, info_closer>;

std::string provider_name(const fi_info& info);
std::string interface_name(const fi_info& info);
/// Whether it moves memory to and from other ranks by itself, after what was sent before and before
/// what is sent later, without their memory or the own being prepared.
bool moves_in_order(const fi_info& info);

struct chosen_info {
    info_list all;
    const fi_info* best;
};
/// @error system_failure with what is there and what to change.
result<chosen_info> choose_provider(const endpoint_wish& wish);

}  // namespace selion::machine::fabric
