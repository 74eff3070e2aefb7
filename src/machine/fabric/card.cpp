// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/card.hpp"

#include <fmt/format.h>
#include <link.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "machine/process/program_images.hpp"
#include "selion/detail/hash.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::uint64_t magic = 0x3444524143ull;  // "CARD4"
constexpr std::size_t parts_of_card = 8;
constexpr std::size_t most_part_bytes = 1 << 20;

struct card_head {
    std::uint64_t magic;
    std::uint64_t program;
    std::uint64_t script;
    job_terms terms;
    share_offer share;
    std::array<std::uint32_t, parts_of_card> part_bytes;
};
static_assert(parts_of_card % 2 == 0);  // nothing lies after them that is not set

/// A library as it travels.
struct library_row {
    std::uint64_t tag;
    std::uint64_t code;
};

std::uint64_t code_of(const dl_phdr_info& info) {
    std::uint64_t hash = detail::empty_hash;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& part = info.dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        const auto* const code = reinterpret_cast<const std::byte*>(info.dlpi_addr + part.p_vaddr);
        constexpr std::size_t word_bytes = sizeof(std::uint64_t);
        for (std::size_t at = 0; at + word_bytes <= part.p_filesz; at += word_bytes) {
            std::uint64_t word = 0;
            std::memcpy(&word, code + at, word_bytes);
            hash = detail::number_hash(word, hash);
            hash ^= hash >> 29;
        }
    }
    return hash;
}

int take_program(dl_phdr_info* info, std::size_t, void* code) {
    *static_cast<std::uint64_t*>(code) = code_of(*info);
    return 1;  // the first object is the main program
}

/// A library that is looked for by its place.
struct wanted_library {
    std::uint64_t start;
    std::uint64_t code;
};

int take_library(dl_phdr_info* info, std::size_t, void* user) {
    auto& wanted = *static_cast<wanted_library*>(user);
    if (info->dlpi_addr != wanted.start) return 0;
    wanted.code = code_of(*info);
    return 1;
}

/// @return none if there are not as many addresses as keys.
std::vector<rank_contact> read_contacts(std::span<const std::byte> keys,
                                        std::span<const std::byte> addresses) {
    const std::size_t ranks = keys.size() / sizeof(std::uint64_t);
    if (ranks * sizeof(std::uint64_t) != keys.size()) return {};
    if (ranks == 0 || addresses.size() % ranks != 0) return {};
    const std::size_t bytes = addresses.size() / ranks;
    std::vector<rank_contact> found(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        std::memcpy(&found[i].key, keys.data() + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
        const auto own = addresses.subspan(i * bytes, bytes);
        found[i].address.assign(own.begin(), own.end());
    }
    return found;
}

}  // namespace

std::uint64_t program_fingerprint() {
    std::uint64_t code = 0;
    dl_iterate_phdr(take_program, &code);
    return code;
}

std::vector<library_card> library_cards() {
    std::vector<library_card> found;
    for (const message_library& library : message_libraries()) {
        wanted_library wanted{library.start, 0};
        dl_iterate_phdr(take_library, &wanted);
        found.push_back({library.tag, wanted.code, library.path});
    }
    for (const detail::script_module& one : script_of_program().modules) {
        found.push_back({detail::text_hash(one.name), one.fingerprint, one.name, true});
    }
    return found;
}

std::uint64_t draw_secret() {
    std::uint64_t secret = 0;
    while (secret == 0) {
        if (getrandom(&secret, sizeof secret, 0) != ssize_t{sizeof secret}) {
            throw error(status::system_failure, "fabric: the kernel gives no random numbers");
        }
    }
    return secret;
}

std::vector<std::byte> encode(const process_card& card) {
    card_head head{.magic = magic,
                   .program = card.program,
                   .script = card.script,
                   .terms = card.terms,
                   .share = card.share,
                   .part_bytes = {}};
    std::vector<std::uint64_t> keys;
    std::vector<std::byte> addresses;
    for (const rank_contact& rank : card.ranks) {
        keys.push_back(rank.key);
        addresses.insert(addresses.end(), rank.address.begin(), rank.address.end());
    }
    std::vector<library_row> libraries;
    for (const library_card& one : card.libraries) libraries.push_back({one.tag, one.code});
    const std::array<std::span<const std::byte>, parts_of_card> parts{
        std::as_bytes(std::span(card.version)),  std::as_bytes(std::span(card.spec)),
        std::as_bytes(std::span(card.provider)), std::as_bytes(std::span(card.host)),
        std::span<const std::byte>(card.pulses), std::as_bytes(std::span(keys)),
        std::span<const std::byte>(addresses),   std::as_bytes(std::span(libraries))};
    std::vector<std::byte> bytes(sizeof head);
    for (std::size_t i = 0; i < parts_of_card; ++i) {
        head.part_bytes[i] = static_cast<std::uint32_t>(parts[i].size());
        bytes.insert(bytes.end(), parts[i].begin(), parts[i].end());
    }
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

std::optional<process_card> decode_card(std::span<const std::byte> bytes) {
    card_head head{};
    if (bytes.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.magic != magic) return std::nullopt;
    bytes = bytes.subspan(sizeof head);
    std::array<std::span<const std::byte>, parts_of_card> parts;
    for (std::size_t i = 0; i < parts_of_card; ++i) {
        const std::size_t wanted = head.part_bytes[i];
        if (wanted > most_part_bytes || wanted > bytes.size()) return std::nullopt;
        parts[i] = bytes.first(wanted);
        bytes = bytes.subspan(wanted);
    }
    std::vector<rank_contact> ranks = read_contacts(parts[5], parts[6]);
    if (!bytes.empty() || ranks.empty()) return std::nullopt;
    std::vector<library_card> libraries;
    for (auto rows = parts[7]; !rows.empty(); rows = rows.subspan(sizeof(library_row))) {
        library_row row{};
        if (rows.size() < sizeof row) return std::nullopt;
        std::memcpy(&row, rows.data(), sizeof row);
        libraries.push_back({row.tag, row.code});
    }
    const auto text = [&](std::size_t part) {
        return std::string(reinterpret_cast<const char*>(parts[part].data()), parts[part].size());
    };
    return process_card{.terms = head.terms,
                        .share = head.share,
                        .program = head.program,
                        .script = head.script,
                        .version = text(0),
                        .spec = text(1),
                        .provider = text(2),
                        .host = text(3),
                        .pulses = {parts[4].begin(), parts[4].end()},
                        .libraries = std::move(libraries),
                        .ranks = std::move(ranks)};
}

namespace {

/// What one has loaded later, or not at all, tells nothing.
const library_card* different_library(const process_card& own, const process_card& other) {
    for (const library_card& one : own.libraries) {
        const auto is_there = [&](bool alike) {
            return std::ranges::any_of(other.libraries, [&](const library_card& its) {
                return its.tag == one.tag && (!alike || its.code == one.code);
            });
        };
        if (is_there(false) && !is_there(true)) return &one;
    }
    return nullptr;
}

}  // namespace

std::string difference(const process_card& own, const process_card& other) {
    if (own.version != other.version) {
        return fmt::format("has version {} of Selion, not {}", other.version, own.version);
    }
    if (own.spec != other.spec) {
        return fmt::format("was started as machine \"{}\", not \"{}\"", other.spec, own.spec);
    }
    if (own.program != other.program) return "runs another program, or another build of it";
    if (own.script != 0 && other.script != 0 && own.script != other.script) {
        return "runs another script, or another version of it";
    }
    if (const library_card* const one = different_library(own, other)) {
        return one->is_module
                   ? fmt::format("has another text of the module {}", one->path)
                   : fmt::format("has another library, or another build of it, in place of {}",
                                 one->path);
    }
    if (own.provider != other.provider) {
        return fmt::format(
            "uses provider {}, not {}; set SELION_FABRIC_PROVIDER to one that all "
            "hosts have",
            other.provider, own.provider);
    }
    return {};
}

}  // namespace selion::machine::fabric
