// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/card_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "machine/machine.hpp"
#include "machine/node/doorbell.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::chrono::microseconds fence_nap{200};

double in_seconds(std::int64_t duration_ns) { return static_cast<double>(duration_ns) / 1e9; }

}  // namespace

card_exchange::card_exchange(launcher_link& launched, rank_places& ranks, std::uint32_t number,
                             process_card own)
    : launched_(launched),
      ranks_(ranks),
      number_(number),
      key_(fmt::format("selion.card.{}", number)),
      own_(std::move(own)) {}

void card_exchange::gather(std::int64_t told_after_ns, std::int64_t given_up_after_ns,
                           const std::function<void()>& give_up) {
    launched_.put(key_, encode(own_));
    const std::int64_t start_ns = node::steady_now_ns();
    bool is_told = told_after_ns == 0;
    launched_.fence([&] {
        std::this_thread::sleep_for(fence_nap);
        const std::int64_t waited_ns = node::steady_now_ns() - start_ns;
        if (waited_ns >= given_up_after_ns) give_up();
        if (is_told || waited_ns < told_after_ns) return;
        is_told = true;
        const std::string text = late_text(told_after_ns, given_up_after_ns);
        if (!text.empty()) base::say(text);
    });
}

/// Of those who would know: the first of all, and those of the own host.
bool card_exchange::is_first_there() {
    std::vector<std::uint32_t> before{0};
    for (const std::uint32_t process : launched_.place().near) {
        if (process != 0) before.push_back(process);
    }
    std::erase_if(before, [this](std::uint32_t process) { return process >= own_process(); });
    return std::ranges::count(launched_.have_put(before, key_), true) == 0;
}

/// Empty: another one says it.
std::string card_exchange::late_text(std::int64_t waited_ns, std::int64_t given_up_after_ns) {
    if (!is_first_there()) return {};
    std::vector<std::uint32_t> others(launched_.place().processes);
    std::iota(others.begin(), others.end(), 0u);
    std::erase(others, own_process());
    const std::vector<bool> are_there = launched_.have_put(others, key_);
    const auto here = std::ranges::find(are_there, true) - are_there.begin();
    const auto late =
        static_cast<std::size_t>(std::ranges::find(are_there, false) - are_there.begin());
    if (static_cast<std::size_t>(here) < own_process()) return {};
    const std::string come =
        number_ == 1 ? "come to selion::run" : fmt::format("called selion::run {} times", number_);
    const std::string end =
        given_up_after_ns == no_deadline
            ? "The job goes on waiting: interrupt its launcher (Ctrl-C) if that is in vain; "
              "SELION_HANG_ACTION=abort ends it after SELION_HANG_TIMEOUT"
            : fmt::format("The job ends if it has not in {} s",
                          in_seconds(given_up_after_ns - waited_ns));
    return fmt::format(
        "{} has waited for {} s for {} to start: has it {}, and is its SELION_MACHINE \"{}\"? {}",
        ranks_.name_of_process(own_process()), in_seconds(waited_ns),
        late < others.size() ? ranks_.name_of_process(others[late]) : "others", come, own_.spec,
        end);
}

error card_exchange::no_card(std::uint32_t process, bool has_left_one) const {
    return {status::system_failure,
            fmt::format("fabric: {} {}", ranks_.name_of_process(process),
                        has_left_one
                            ? "has left a card of another version: all ranks must run the same "
                              "program, and call selion::run alike"
                            : "has left no card: it has ended before all ranks have started, or "
                              "is another program")};
}

process_card card_exchange::read(std::uint32_t process) {
    const auto bytes = launched_.get(process, key_);
    std::optional<process_card> card;
    if (bytes) card = decode_card(*bytes);
    if (!card) throw no_card(process, bytes.has_value());
    ranks_.note_host(process, card->host);
    const std::string mistake = difference(own_, *card);
    if (!mistake.empty()) {
        throw error(status::system_failure, fmt::format("fabric: compared with {}, {} {}",
                                                        ranks_.name_of_process(own_process()),
                                                        ranks_.name_of_process(process), mistake));
    }
    // Those of one spec have as many ranks.
    if (card->ranks.size() != ranks_.ranks_per_process()) throw no_card(process, true);
    return *card;
}

}  // namespace selion::machine::fabric
