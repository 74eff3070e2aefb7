// SPDX-License-Identifier: Apache-2.0
#include "documented.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace bindings {
namespace {

struct named_text {
    std::string_view name;
    const char* text;
};
/// Sorted by name.
constexpr named_text texts[] = {
#include "stub_texts.inc"
};

}  // namespace

const char* stub_text(const std::string& name) {
    const auto found = std::ranges::lower_bound(texts, name, {}, &named_text::name);
    return found == std::end(texts) || found->name != name ? "" : found->text;
}

}  // namespace bindings
