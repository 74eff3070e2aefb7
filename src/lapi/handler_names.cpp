// SPDX-License-Identifier: Apache-2.0
#include "lapi/handler_names.hpp"

#include "selion/detail/message_function.hpp"

namespace selion::lapi {
namespace {

constexpr unsigned tag_shift = 48;

detail::image_place image_of(std::uint64_t address) {
    const detail::image_place& own = detail::own_image;
    if (address - own.start < own.bytes) return own;
    return detail::register_image(reinterpret_cast<const void*>(address));
}

}  // namespace

std::uint64_t name_of_handler(const void* handler) {
    const auto address = reinterpret_cast<std::uint64_t>(handler);
    if (address < address_table_entries) return address;
    const detail::image_place image = image_of(address);
    if (image.bytes != 0) return image.tag | (address - image.start);
    // In no image at all, or in one whose name another has taken: that is told.
    return image.tag == 0 ? address : detail::encode_foreign_function(address);
}

void* handler_of_name(const task& own, std::uint64_t name) {
    if (name < address_table_entries) return own.addresses[name];
    if (name >> tag_shift != 0) return reinterpret_cast<void*>(detail::decode_function(name));
    return image_of(name).bytes != 0 ? reinterpret_cast<void*>(name) : nullptr;
}

}  // namespace selion::lapi
