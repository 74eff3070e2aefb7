// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/rank.hpp>

namespace selion::detail {

/// A team as one of its members knows it, and what collectives check before they begin: each of
/// these ends the job with a sentence.
class block_checks {
protected:
    explicit block_checks(const team_view& view) noexcept : view_(view) {}
    /// What has been moved from is an empty handle, whose team may end before it. The team of all
    /// ranks does not.
    block_checks(block_checks&& from) noexcept : view_(from.taken()) {}
    block_checks& operator=(block_checks&& from) noexcept {
        view_ = from.taken();
        return *this;
    }
    block_checks(const block_checks&) = default;
    block_checks& operator=(const block_checks&) = default;

    SELION_API void expect_blocks(const char* what, std::size_t all, std::size_t own,
                                  std::source_location site) const;
    /// The own block is the rank's block of all, or has nothing in common with them.
    SELION_API void expect_apart(const char* what, const void* own, const void* all,
                                 std::size_t block_bytes, std::source_location site) const;
    SELION_API void expect_exchange(std::size_t to_bytes, const void* to, std::size_t from_bytes,
                                    const void* from, std::size_t element_bytes,
                                    std::source_location site) const;
    /// The two have nothing in common.
    SELION_API void expect_disjoint(const char* what, std::span<const std::byte> to,
                                    std::span<const std::byte> from,
                                    std::source_location site) const;
    SELION_API void expect_root(const char* what, team_rank root, std::source_location site) const;
    /// @param own elements of the rank's block, if it is known.
    SELION_API void expect_counts(const char* what, std::size_t all,
                                  std::span<const std::size_t> counts,
                                  std::optional<std::size_t> own, std::source_location site) const;
    /// Of blocks that differ in length: as `expect_counts` and `expect_apart`.
    template <class Own, class All>
    void expect_varying(const char* what, Own own, All all, std::span<const std::size_t> counts,
                        std::source_location site) const {
        expect_counts(what, all.size(), counts, own.size(), site);
        expect_varying_apart(what, own.data(), all.data(), counts, sizeof(all[0]), site);
    }
    [[noreturn]] SELION_API void end_for_member(team_rank member, std::source_location site) const;

    team_view view_;

private:
    team_view taken() noexcept {
        return view_.is_everybody() ? view_ : std::exchange(view_, {.context = view_.context});
    }
    SELION_API void expect_varying_apart(const char* what, const void* own, const void* all,
                                         std::span<const std::size_t> counts,
                                         std::size_t element_bytes,
                                         std::source_location site) const;
};

}  // namespace selion::detail
