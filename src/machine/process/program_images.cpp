// SPDX-License-Identifier: Apache-2.0
#include "machine/process/program_images.hpp"

#include <fmt/format.h>
#include <link.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "selion/detail/hash.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/detail/script_place.hpp"
#include "selion/expect.hpp"

namespace selion::detail {
namespace {

constexpr unsigned tag_shift = 48;
constexpr std::uint64_t program_tag = std::uint64_t{1} << tag_shift;
constexpr std::uint64_t distance_mask = (std::uint64_t{1} << tag_shift) - 1;

/// The images whose functions messages have named here, or may name.
constexpr std::size_t most_images = 64;
std::array<image_place, most_images> images;
std::atomic<std::size_t> image_count = 0;
/// Ranks that are threads may name functions of a new image at the same time.
std::mutex images_change;
/// Jobs of a program may begin in any of its threads.
std::mutex script_change;
machine::running_script noted_script;

/// An image that was looked for, and what became of it.
struct entry {
    std::uint64_t address;   ///< in it
    image_place place = {};  ///< of no bytes: no message may name its functions
    bool is_there = false;
    std::string path = {};
    std::string trouble = {};  ///< why none may
};

/// The program itself has an empty name; libraries are known by the last part of theirs.
std::uint64_t tag_of(std::string_view path) {
    if (path.empty()) return program_tag;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::uint64_t hash = detail::text_hash(name);
    const std::uint64_t folded = (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) & 0xffff;
    return (folded < 2 ? folded + 2 : folded) << tag_shift;
}

int look_at_image(dl_phdr_info* image, std::size_t, void* user) {
    entry& wanted = *static_cast<entry*>(user);
    const std::uint64_t start = image->dlpi_addr;
    std::uint64_t end = 0;
    bool has_it = false;
    for (int i = 0; i < image->dlpi_phnum; ++i) {
        const auto& part = image->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const std::uint64_t first = start + part.p_vaddr;
        has_it |= wanted.address >= first && wanted.address - first < part.p_memsz;
        end = std::max<std::uint64_t>(end, part.p_vaddr + part.p_memsz);
    }
    if (!has_it) return 0;
    wanted.place = {start, end, tag_of(image->dlpi_name)};
    wanted.is_there = true;
    wanted.path = image->dlpi_name;
    return 1;
}

/// The path of the image that lies at `place` and is called as it was then; nothing if it is gone.
std::optional<std::string> path_of(const image_place& place) {
    entry there{place.start};
    dl_iterate_phdr(look_at_image, &there);
    const bool is_same =
        there.is_there && there.place.start == place.start && there.place.tag == place.tag;
    return is_same ? std::optional(there.path) : std::nullopt;
}

/// Where to enter an image: the place of one of that name that was unloaded, or a new one.
/// @param wanted is told what is in the way.
image_place* room_for(entry& wanted, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (images[i].tag != wanted.place.tag) continue;
        const std::optional<std::string> other = path_of(images[i]);
        if (!other) return &images[i];
        wanted.trouble = fmt::format("'{}' cannot be told from it: rename one", *other);
        return nullptr;
    }
    if (count < most_images) return &images[count];
    wanted.trouble =
        fmt::format("{} of them are known already, the most that there may be", most_images);
    return nullptr;
}

entry enter_image(const void* inside) {
    entry wanted{reinterpret_cast<std::uint64_t>(inside)};
    dl_iterate_phdr(look_at_image, &wanted);
    if (!wanted.is_there) return wanted;
    const std::lock_guard lock(images_change);
    const std::size_t count = image_count.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        if (images[i].tag == wanted.place.tag && images[i].start == wanted.place.start) {
            images[i].bytes = wanted.place.bytes;  // it may have been built anew
            return wanted;
        }
    }
    if (image_place* const room = room_for(wanted, count)) {
        *room = wanted.place;
        // release: the place before the count [images.count]
        if (room == &images[count]) image_count.store(count + 1, std::memory_order_release);
    } else {
        wanted.place.bytes = 0;
    }
    return wanted;
}

}  // namespace

image_place register_image(const void* inside) { return enter_image(inside).place; }

std::uint64_t encode_foreign_function(std::uint64_t address) {
    const entry found = enter_image(reinterpret_cast<const void*>(address));
    SELION_EXPECT(
        found.is_there,
        fmt::format("a message names the function at {:#x}, which lies in no part of this "
                    "program",
                    address));
    SELION_EXPECT(found.place.bytes != 0,
                  fmt::format("a message names a function of '{}', but functions are known by the "
                              "last part of their library's path, and {}",
                              found.path, found.trouble));
    return found.place.tag | (address - found.place.start);
}

std::uint64_t decode_foreign_function(std::uint64_t code) noexcept {
    // acquire: see register_image [images.count]
    const std::size_t count = image_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        if (images[i].tag != (code & ~distance_mask)) continue;
        const std::uint64_t distance = code & distance_mask;
        return distance < images[i].bytes ? images[i].start + distance : 0;
    }
    return 0;
}

void note_script(std::uint64_t fingerprint, std::vector<script_module> modules) {
    const std::lock_guard lock(script_change);
    noted_script = {fingerprint, std::move(modules)};
}

}  // namespace selion::detail

namespace selion::machine {

running_script script_of_program() {
    const std::lock_guard lock(detail::script_change);
    return detail::noted_script;
}

std::vector<message_library> message_libraries() {
    using namespace detail;
    const std::lock_guard lock(images_change);
    std::vector<message_library> found;
    for (std::size_t i = 0; i < image_count.load(std::memory_order_relaxed); ++i) {
        if (images[i].tag == program_tag) continue;
        const std::optional<std::string> path = path_of(images[i]);
        if (path) found.push_back({images[i].start, images[i].tag, *path});
    }
    return found;
}

}  // namespace selion::machine
