// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include <selion/block_collectives.hpp>
#include <selion/detail/block_call.hpp>
#include <selion/detail/started_call.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/future.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>

namespace selion::detail {

/// How collectives of a team are started.
class collective_start : protected block_collectives {
protected:
    collective_start(const team_view& view, std::shared_ptr<void> life) noexcept
        : block_collectives(view), life_(std::move(life)) {}

    template <class T, class Operation>
    future<> combine(collective_kind what, std::span<const std::type_identity_t<T>> source,
                     T* target, const Operation& operation, team_rank root,
                     std::source_location site,
                     std::optional<std::size_t> block = std::nullopt) const {
        started_call call = combining<T>(operation);
        call.call = reducing(what, source, target, call.how, root);
        call.call.count = block.value_or(source.size());
        return start(std::move(call), site);
    }
    /// In place.
    template <class T, class Operation>
    future<> start_exscan(std::span<T> data, const Operation& operation, const T& first,
                          std::source_location site) const {
        started_call call = combining<T>(operation);
        auto both = std::make_shared<const std::pair<T, std::shared_ptr<const void>>>(
            first, std::move(call.kept));
        call.call = exscanning(data, call.how, both->first);
        call.kept = std::move(both);
        return start(std::move(call), site);
    }
    future<> start(started_call call, std::source_location site) const {
        call.team_life = life_;
        return start_block_call(view(), std::move(call), site);
    }

private:
    template <class T, class Operation>
    static started_call combining(const Operation& operation) {
        started_call call;
        if constexpr (std::is_function_v<Operation>) {
            call.how = erase_reduction<T>(operation);
        } else {
            auto kept = std::make_shared<const Operation>(operation);
            call.how = erase_reduction<T>(*kept);
            call.kept = std::move(kept);
        }
        return call;
    }

    std::shared_ptr<void> life_;
};

}  // namespace selion::detail
