// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/card.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "machine/process/program_images.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/detail/script_place.hpp"

namespace selion::machine::fabric {
namespace {

using testing::HasSubstr;

process_card example() {
    return {.terms = {.secret = 7, .reserve_bytes = 1 << 20},
            .share = {.view = 5, .device = 1, .inode = 6, .process = 77, .file = 9},
            .program = 42,
            .script = 77,
            .version = "0.1.0",
            .spec = "fabric:4",
            .provider = "tcp;ofi_rxm",
            .host = "a",
            .pulses = std::vector<std::byte>(16, std::byte{2}),
            .libraries = {{21, 22, "/lib/libone.so"}, {31, 32, "/lib/libother.so"}},
            .ranks = {{std::vector<std::byte>(16, std::byte{1}), 8},
                      {std::vector<std::byte>(16, std::byte{3}), 9}}};
}

TEST(card, is_read_as_it_was_written) {
    const std::optional<process_card> read = decode_card(encode(example()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->terms.secret, 7u);
    EXPECT_EQ(read->share.inode, 6u);
    EXPECT_TRUE(read->share.meets(example().share));
    EXPECT_EQ(read->program, 42u);
    EXPECT_EQ(read->script, 77u);
    ASSERT_EQ(read->libraries.size(), 2u);
    EXPECT_EQ(read->libraries[1].tag, 31u);
    EXPECT_EQ(read->libraries[1].code, 32u);
    EXPECT_EQ(read->host, "a");
    EXPECT_EQ(read->pulses, example().pulses);
    ASSERT_EQ(read->ranks.size(), 2u);
    for (std::size_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(read->ranks[rank].address, example().ranks[rank].address);
        EXPECT_EQ(read->ranks[rank].key, example().ranks[rank].key);
    }
    EXPECT_EQ(difference(example(), *read), "");
}

TEST(card, of_any_other_length_is_none) {
    const std::vector<std::byte> whole = encode(example());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_FALSE(decode_card(std::span(whole).first(bytes)));
    }
    std::vector<std::byte> longer = whole;
    longer.push_back({});
    EXPECT_FALSE(decode_card(longer));
}

TEST(card, of_a_process_without_ranks_is_none) {
    process_card without = example();
    without.ranks.clear();
    EXPECT_FALSE(decode_card(encode(without)));
}

TEST(card, what_keeps_ranks_apart_is_told) {
    process_card other = example();
    other.version = "0.2.0";
    EXPECT_EQ(difference(example(), other), "has version 0.2.0 of Selion, not 0.1.0");
    other = example();
    other.spec = "fabric:5";
    EXPECT_THAT(difference(example(), other), HasSubstr("\"fabric:5\", not \"fabric:4\""));
    other = example();
    other.program = 43;
    EXPECT_THAT(difference(example(), other), HasSubstr("another program, or another build"));
    other = example();
    other.script = 78;
    EXPECT_THAT(difference(example(), other), HasSubstr("another script"));
    other = example();
    other.libraries[1].code = 33;
    EXPECT_THAT(difference(example(), other), HasSubstr("in place of /lib/libother.so"));
    other = example();
    other.provider = "sockets";
    EXPECT_THAT(difference(example(), other), HasSubstr("set SELION_FABRIC_PROVIDER"));
}

TEST(card, libraries_are_those_whose_functions_messages_may_name) {
    const void* const inside = dlsym(RTLD_DEFAULT, "hwloc_topology_init");
    if (inside == nullptr) GTEST_SKIP() << "no library is loaded that could be registered";
    const auto is_known = [](const std::vector<library_card>& all) {
        return std::ranges::any_of(all, [](const library_card& one) {
            return one.path.find("/libhwloc.") != one.path.npos && one.code != 0;
        });
    };
    EXPECT_FALSE(is_known(library_cards()));
    const detail::image_place place = detail::register_image(inside);
    const std::vector<library_card> found = library_cards();
    EXPECT_TRUE(is_known(found));
    for (const library_card& one : found) {
        EXPECT_FALSE(one.path.empty());
        EXPECT_NE(one.code, program_fingerprint());
    }
    EXPECT_NE(place.tag, 0u);
}

TEST(card, what_only_one_of_two_has_keeps_them_not_apart) {
    process_card other = example();
    other.script = 0;
    other.libraries.pop_back();
    other.libraries.push_back({41, 42});
    EXPECT_EQ(difference(example(), other), "");
    EXPECT_EQ(difference(other, example()), "");
}

TEST(card, another_text_of_a_module_is_named) {
    process_card own = example();
    own.libraries.push_back({.tag = 51, .code = 52, .path = "colours", .is_module = true});
    process_card other = example();
    other.libraries.push_back({.tag = 51, .code = 53});
    EXPECT_EQ(difference(own, other), "has another text of the module colours");
}

TEST(card, modules_of_the_script_are_noted) {
    detail::note_script(7, {{"colours", 8}});
    EXPECT_EQ(script_of_program().fingerprint, 7u);
    const std::vector<library_card> found = library_cards();
    EXPECT_TRUE(std::ranges::any_of(found, [](const library_card& one) {
        return one.is_module && one.path == "colours" && one.code == 8;
    }));
    detail::note_script(0);
    EXPECT_TRUE(std::ranges::none_of(library_cards(), &library_card::is_module));
}

TEST(card, that_names_a_library_twice_is_like_itself) {
    process_card twice = example();
    twice.libraries.push_back({21, 23});
    EXPECT_EQ(difference(twice, twice), "");
}

}  // namespace
}  // namespace selion::machine::fabric
