// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/selion.hpp>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <vector>

/// What misusing.cpp does wrong with coherent memory.
namespace {

using heights = selion::cached_array<int, 1>;

selion::cached copies_for(std::string_view what) {
    selion::cached how{.block_bytes = what == "cached_block" ? 48u : 64u,
                       .protocol = selion::cache_protocol::always};
    if (what.starts_with("cached_update")) how.writes = selion::write_protocol::update;
    if (what == "cached_update") how.consistency = selion::memory_consistency::release;
    if (what == "cached_thrown_direct") how.protocol = selion::cache_protocol::where_needed;
    return how;
}

/// Rank 0 has written what is rank 2's, or read it.
void mistake_with_a_third(const heights& array, std::string_view what) {
    std::vector<int> some(8);
    if (what == "cached_third") static_cast<void>(array.memory()(16).get());  // site: cached_third
    if (what == "cached_box") array.memory().read({{16}, {8}}, some);         // site: cached_box
    if (what == "cached_atomic")
        selion::fetch_add(array.memory().address(16), 1);  // site: cached_atomic
    if (what == "cached_shared") array.memory()(16) = 1;   // site: cached_shared
}

/// All ranks make the array; rank 1 makes the mistake.
void mistake_with_copies(selion::world& world, std::string_view what) {
    if (!what.starts_with("cached_")) return;
    const std::size_t n = 8 * std::size_t{world.size()};
    const heights array(world, {n}, selion::runs{8}, copies_for(what), "heights");
    if (world.rank() == 0) {
        if (what == "cached_own") static_cast<void>(array(8).get());
        if (what == "cached_shared") {
            static_cast<void>(array(16).get());
        } else {
            array(16) = 1;
        }
    }
    world.barrier();
    if (world.rank() == 1) {
        mistake_with_a_third(array, what);
        if (what == "cached_own") array.memory()(8) = 1;  // site: cached_own
        if (what == "cached_index") array(n + 3) = 1;     // site: cached_index
        if (what == "cached_update") array(3) += 1;       // site: cached_update
        const auto refuse = [](int&) { throw std::runtime_error("has enough"); };
        if (what == "cached_thrown") array(8).change(refuse);          // site: cached_thrown
        if (what == "cached_thrown_direct") array(16).change(refuse);  // site: cached_thrown_direct
        if (what == "cached_thrown_late") array(0).change(refuse);     // site: cached_thrown_late
        if (what == "cached_mixed") {
            array(0) = 1;
            std::printf("%d\n", int{array.memory()(0)});  // site: cached_mixed
        }
    }
    world.barrier();
    selion::deallocate(world, array);
}

/// All ranks make it together.
void mistake_with_spaces(selion::world& world, std::string_view what) {
    if (!what.starts_with("space_")) return;
    const bool is_odd = world.rank() == 1;
    selion::cached how{.block_bytes = 64, .protocol = selion::cache_protocol::always};
    if (is_odd && what == "space_options") how.block_bytes = 32;
    const std::size_t run = is_odd && what == "space_layout" ? 4 : 8;
    const std::size_t n = 8 * std::size_t{world.size()};
    if (what == "space_layout" || what == "space_options") {
        const heights odd(world, {n}, selion::runs{run}, how, "odd");  // site: space_alike
    }
    if (what == "space_none") {
        const selion::coherent_space none;
        static_cast<void>(none.take<int>(3));  // site: space_none
    }
    if (what == "space_beyond") {
        const heights near(world, {n}, selion::runs{8}, how, "near");
        const auto other = selion::allocate<int>(world, 1);
        if (is_odd) near.space().at(other) = 1;  // site: space_beyond
        world.barrier();
    }
    const heights gone(world, {n}, selion::runs{8}, how, "gone");
    selion::deallocate(world, gone);
    if (what == "space_twice") selion::deallocate(world, gone);  // site: space_twice
    if (what == "space_flush") gone.space().flush();             // site: space_flush
    if (is_odd) {
        int some = 0;
        selion::transfers under_way;
        if (what == "space_read") static_cast<void>(gone(0).get());  // site: space_read
        if (what == "space_write") gone(0) = 1;                      // site: space_write
        if (what == "space_add") gone(0) += 1;                       // site: space_add
        if (what == "space_get") gone.get(under_way, {0}, some);     // site: space_get
    }
    world.barrier();
}

}  // namespace
