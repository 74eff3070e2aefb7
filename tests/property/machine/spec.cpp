// SPDX-License-Identifier: Apache-2.0
#include "machine/spec.hpp"

#include <rapidcheck/gtest.h>

namespace selion::machine {
namespace {

/// Texts made of what specs are made of, so that many are nearly legal.
std::string nearly_a_spec() {
    const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "threads", "processes", ":", "@", "x", ",", "=", "0", "1", "2", "64", "1048575", "1048576",
        "direct", "off", "on", "-", " ", "99999999999999999999"));
    std::string text;
    for (const std::string& word : words) text += word;
    return text;
}

RC_GTEST_PROP(spec, every_text_is_either_a_machine_or_a_sentence, ()) {
    const std::string text = nearly_a_spec();
    const auto cores = *rc::gen::inRange(1u, 300u);
    const result<machine_spec> spec = split_spec(text);
    if (!spec) {
        RC_ASSERT(std::string_view(spec.trouble().what()).find(text) != std::string_view::npos);
        return;
    }
    for (const auto make : {threads_shape, processes_shape}) {
        const result<node_shape> shape = make(spec.value(), cores);
        if (!shape) {
            RC_ASSERT(shape.trouble().code() == status::bad_argument);
            continue;
        }
        const node_shape& is = shape.value();
        RC_ASSERT(is.ranks() >= 1u);
        RC_ASSERT(is.ranks() <= max_ranks);
        RC_ASSERT(is.carriers_per_process >= 1u);
        RC_ASSERT(is.carriers_per_process <= is.ranks_per_process);
    }
}

RC_GTEST_PROP(spec, parts_make_up_the_text, ()) {
    const result<machine_spec> spec = split_spec(nearly_a_spec());
    RC_PRE(spec.has_value());
    const machine_spec& is = spec.value();
    std::size_t bytes = is.kind.size() + (is.body.empty() ? 0 : 1 + is.body.size());
    for (const auto& [key, value] : is.options) bytes += key.size() + value.size() + 2;
    RC_ASSERT(bytes == is.text.size());
}

}  // namespace
}  // namespace selion::machine
