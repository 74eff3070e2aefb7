// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/card_exchange.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "machine/node/doorbell.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::chrono::microseconds fence_nap{200};

}  // namespace

card_exchange::card_exchange(launcher_link& launched, const rank_places& ranks,
                             std::uint32_t number, process_card own)
    : launched_(launched),
      ranks_(ranks),
      key_(fmt::format("selion.card.{}", number)),
      own_(std::move(own)) {}

void card_exchange::gather(std::int64_t told_after_ns, std::int64_t given_up_after_ns,
                           const std::function<void()>& give_up) {
    launched_.put(key_, encode(own_));
    const std::int64_t start_ns = node::steady_now_ns();
    // If one of the two is the one that does not come, the other one says so.
    bool is_told = told_after_ns == 0 || own_process() > 1;
    launched_.fence([&] {
        std::this_thread::sleep_for(fence_nap);
        const std::int64_t waited_ns = node::steady_now_ns() - start_ns;
        if (!is_told && waited_ns >= told_after_ns) {
            is_told = true;
            base::say(late_text(told_after_ns));
        }
        if (given_up_after_ns != 0 && waited_ns >= given_up_after_ns) give_up();
    });
}

std::string card_exchange::late_text(std::int64_t waited_ns) {
    const std::uint32_t processes = launched_.place().processes;
    std::uint32_t late = 0;
    while (late < processes && launched_.has_put(late, key_)) ++late;
    return fmt::format(
        "{} has waited for {} s for {} to start: has it come to selion::run, and is its "
        "SELION_MACHINE \"{}\"?",
        ranks_.name_of_process(own_process()), static_cast<double>(waited_ns) / 1e9,
        late < processes ? ranks_.name_of_process(late) : "others", own_.spec);
}

process_card card_exchange::read(std::uint32_t process) {
    const auto bytes = launched_.get(process, key_);
    std::optional<process_card> card;
    if (bytes) card = decode_card(*bytes);
    if (!card || card->ranks.size() != ranks_.ranks_per_process()) {
        throw error(status::system_failure,
                    fmt::format("fabric: {} has left no card of this version: all ranks must run "
                                "the same program, and call selion::run alike",
                                ranks_.name_of_process(process)));
    }
    const std::string mistake = difference(own_, *card);
    if (mistake.empty()) return *card;
    throw error(status::system_failure,
                fmt::format("fabric: {} {}, as {} does", ranks_.name_of_process(process), mistake,
                            ranks_.name_of_process(own_process())));
}

}  // namespace selion::machine::fabric
