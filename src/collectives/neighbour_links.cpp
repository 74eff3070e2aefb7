// SPDX-License-Identifier: Apache-2.0
#include "collectives/neighbour_links.hpp"

#include <cstring>

#include "onesided/waiting.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {
namespace {

/// Letters that are taken before their sender is told by a message of its own. Most often it is
/// told earlier, for nothing, by the next message that goes the other way.
constexpr std::uint64_t letters_between_credits = letter_window / 2;
static_assert(letters_between_credits >= 1 && letters_between_credits <= letter_window);

/// Letters of a link are numbered from 1 in each direction, and so are parcels.
std::size_t place_of(std::uint64_t letter) { return letter % letter_window; }
std::size_t arrival_of(std::uint64_t parcel) { return parcel % parcel_window; }

}  // namespace

link_end& neighbour_links::end_of(neighbour which) {
    return own_.links[which.level][static_cast<std::size_t>(which.where)];
}

std::uint32_t neighbour_links::member_of(neighbour which) const {
    const std::uint64_t distance = std::uint64_t{1} << which.level;
    const std::uint64_t ranks = members_.count();
    const std::uint64_t steps = which.where == direction::after ? distance : ranks - distance;
    return static_cast<std::uint32_t>((members_.own() + steps) % ranks);
}

/// Global address of a place in the neighbour's end of the link: there the link leads the other
/// way.
std::uint64_t neighbour_links::address(neighbour which, std::size_t offset_in_end) const {
    const std::size_t there = which.where == direction::after
                                  ? static_cast<std::size_t>(direction::before)
                                  : static_cast<std::size_t>(direction::after);
    const std::size_t end = which.level * link_directions + there;
    return members_.address(member_of(which),
                            offsetof(team_block, links) + end * sizeof(link_end) + offset_in_end);
}

void neighbour_links::signal(neighbour to, std::size_t offset_in_end, detail::signal_update update,
                             bool is_patient) {
    const std::uint64_t word = address(to, offset_in_end);
    context_.transport->put(context_, {.target = word,
                                       .source = nullptr,
                                       .bytes = 0,
                                       .signal = word,
                                       .update = update,
                                       .is_patient = is_patient});
}

void neighbour_links::wait(detail::shared_word& word, std::uint64_t at_least) {
    detail::await_word(context_, {word, at_least, machine::wait_reason::collective});
}

void neighbour_links::invite(neighbour from, std::size_t bytes) {
    if (is_letter(bytes)) return;
    link_end& end = end_of(from);
    signal(from, offsetof(link_end, parcels_invited), signal_add(1));
    end.letters_told = end.letters_received;
}

void neighbour_links::send(neighbour to, std::span<const std::byte> data, landing_place where) {
    if (is_letter(data.size())) return send_letter(to, data);
    link_end& end = end_of(to);
    wait(end.parcels_invited, ++end.invitations_used);
    end.letters_freed = end.letters_sent;
    send_parcel(to, data, where);
}

void neighbour_links::answer(neighbour to, std::span<const std::byte> data) {
    if (is_letter(data.size())) return send_letter(to, data);
    send_parcel(to, data, landing_place{});
}

void neighbour_links::send_letter(neighbour to, std::span<const std::byte> data) {
    link_end& end = end_of(to);
    const std::uint64_t number = ++end.letters_sent;
    if (number > end.letters_freed + letter_window) {
        wait(end.letters_taken, number - letter_window);
        end.letters_freed = detail::word_load(end.letters_taken);
    }
    const std::size_t place = offsetof(link_end, letters) + place_of(number) * sizeof(letter_place);
    context_.transport->put(
        context_, {address(to, place + offsetof(letter_place, bytes)), data.data(), data.size(),
                   address(to, place + offsetof(letter_place, arrived)), signal_set(number)});
    end.letters_told = end.letters_received;
}

void neighbour_links::send_parcel(neighbour to, std::span<const std::byte> data,
                                  landing_place where) {
    link_end& end = end_of(to);
    const std::uint64_t number = ++end.parcels_sent;
    const std::size_t landing = offsetof(team_block, slots) + where.offset;
    const std::size_t arrival =
        offsetof(link_end, parcel_arrived) + arrival_of(number) * sizeof(detail::shared_word);
    context_.transport->put(context_, {members_.address(member_of(to), landing), data.data(),
                                       data.size(), address(to, arrival), signal_set(number)});
    end.letters_told = end.letters_received;
}

const std::byte* neighbour_links::receive(neighbour from, std::size_t bytes, letter_copy& copy,
                                          landing_place where) {
    link_end& end = end_of(from);
    if (!is_letter(bytes)) {
        const std::uint64_t number = ++end.parcels_received;
        wait(end.parcel_arrived[arrival_of(number)], number);
        end.letters_freed = end.letters_sent;
        return own_.slots[0] + where.offset;
    }
    const std::uint64_t number = ++end.letters_received;
    letter_place& place = end.letters[place_of(number)];
    wait(place.arrived, number);
    end.letters_freed = end.letters_sent;
    std::memcpy(copy.bytes, place.bytes, bytes);
    if (number - end.letters_told >= letters_between_credits) {
        // Added, not set: of two that are on their way the first may come last. The partner has
        // room for two more letters: what this rank sends or waits for next takes it along.
        signal(from, offsetof(link_end, letters_taken), signal_add(number - end.letters_credited),
               true);
        end.letters_credited = end.letters_told = number;
    }
    return copy.bytes;
}

}  // namespace selion::collectives
