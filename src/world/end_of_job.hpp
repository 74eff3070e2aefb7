// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <source_location>

#include "machine/machine.hpp"

namespace selion::detail {

/// What ranks that report deaths tell each other when they have come to their ends. Lives as long
/// as messages may come for the rank.
std::shared_ptr<void> make_end_notices(std::uint32_t ranks);

/// What ranks tell each other until nobody has news. A message that a handler has sent before it
/// returned is handled in the same round or the next, and then its receiver has some.
class end_news {
public:
    /// Runs the completion handlers that wait for their turn. @return 1 if any have returned since
    /// the last look, or messages have been handled; else 0.
    std::uint64_t look(rank_context& context);

private:
    std::uint64_t counted_ = 0;
};

/// Ranks leave when what they have sent to each other is done, as far as they live: protocol.md of
/// the machine fabric, "Deaths that are reported". @pre `context.deaths` is set.
void end_among_mortals(rank_context& context, std::source_location site);

/// What others have sent before they came here is handled.
void empty_mail(rank_context& context);

}  // namespace selion::detail
