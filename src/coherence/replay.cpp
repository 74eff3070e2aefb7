// SPDX-License-Identifier: Apache-2.0
/// Traces of accesses, replayed with blocks of other sizes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "coherence/replayed_blocks.hpp"
#include "coherence/trace_reader.hpp"
#include "selion/access_replay.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"

namespace selion {
namespace {

using coherence::named_array;
using coherence::replayed_blocks;
using coherence::trace_head;
using coherence::trace_reader;
using coherence::traced_access;
using coherence::word_history;
using coherence::trace_format::record;

using readers = std::vector<std::unique_ptr<trace_reader>>;

/// A space of a run of the program.
using space_name = std::pair<std::uint64_t, std::uint64_t>;

/// The files of each space.
std::map<space_name, std::vector<std::string>> find_all(const std::string& folder) {
    std::map<space_name, std::vector<std::string>> found;
    std::error_code trouble;
    for (const auto& entry : std::filesystem::directory_iterator(folder, trouble)) {
        if (entry.path().extension() != ".trace") continue;
        const std::string path = entry.path().string();
        const trace_head head = trace_reader(path).head();
        found[{head.run, head.space}].push_back(path);
    }
    if (found.empty()) {
        throw error(status::bad_argument,
                    fmt::format("there are no traces of accesses in {}", folder));
    }
    return found;
}

/// The traces of one space, by rank.
readers open_all(const std::vector<std::string>& paths) {
    readers all;
    for (const std::string& path : paths) all.push_back(std::make_unique<trace_reader>(path));
    std::ranges::sort(all, {}, [](const auto& one) { return one->head().rank; });
    const trace_head& head = all.front()->head();
    bool are_alike = all.size() == head.ranks;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const trace_head& other = all[i]->head();
        are_alike = are_alike && other.rank == i &&
                    std::tie(other.ranks, other.block_bytes, other.offset, other.bytes) ==
                        std::tie(head.ranks, head.block_bytes, head.offset, head.bytes);
    }
    if (are_alike) return all;
    throw error(status::bad_argument,
                fmt::format("the traces of space {} are not those of one run of {} ranks: there "
                            "are {}; files of an earlier run are among them, or some are missing: "
                            "empty the folder and run the program again",
                            head.space, head.ranks, all.size()));
}

/// One space and its traces.
class replay {
public:
    replay(readers& all, std::span<const std::size_t> block_sizes)
        : readers_(all), head_(all.front()->head()), words_(head_.ranks) {
        std::vector<std::size_t> sizes(block_sizes.begin(), block_sizes.end());
        sizes.push_back(head_.block_bytes);
        std::ranges::sort(sizes);
        sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
        for (const std::size_t one : sizes) {
            blocks_.emplace_back(one, head_.ranks);
        }
    }

    replayed_space run(std::size_t most_worst) {
        // By time, then by rank: the earliest at the front.
        const auto later = [&](std::size_t left, std::size_t right) {
            return std::pair(readers_[left]->access().at_ns, left) >
                   std::pair(readers_[right]->access().at_ns, right);
        };
        std::vector<std::size_t> next;
        for (std::size_t i = 0; i < readers_.size(); ++i) {
            if (readers_[i]->advance()) next.push_back(i);
        }
        std::ranges::make_heap(next, later);
        while (!next.empty()) {
            std::ranges::pop_heap(next, later);
            trace_reader& reader = *readers_[next.back()];
            take(reader.head().rank, reader.access());
            if (reader.advance()) {
                std::ranges::push_heap(next, later);
            } else {
                next.pop_back();
            }
        }
        return result(most_worst);
    }

private:
    void take(std::uint32_t rank, const traced_access& one) {
        words_.begin();
        switch (one.what) {
            case record::flush:
                for (replayed_blocks& all : blocks_) all.flush(rank, words_.now());
                return;
            case record::invalidate:
                for (replayed_blocks& all : blocks_) all.invalidate(rank, words_.now());
                return;
            default: access(rank, one);
        }
    }
    void access(std::uint32_t rank, const traced_access& one) {
        const std::uint32_t home = detail::rank_of(one.address);
        const std::uint64_t place = (one.address & detail::offset_mask) - head_.offset;
        if (home >= head_.ranks || one.bytes == 0 || place > head_.bytes ||
            one.bytes > head_.bytes - place) {
            throw error(status::bad_argument,
                        fmt::format("the trace of rank {} has an access outside of space {}", rank,
                                    head_.space));
        }
        const bool is_write = one.what == record::write;
        const std::size_t array = array_at(place + head_.offset);
        for (replayed_blocks& with_size : blocks_) {
            with_size.access({rank, home, place, one.bytes, is_write, array}, words_);
        }
        if (is_write) words_.write(home, place, one.bytes);
    }

    /// Number of the array that has a byte; 0: none. All ranks name the same ones, some earlier.
    std::size_t array_at(std::uint64_t offset) {
        if (last_array_.has(offset)) return last_number_;
        for (const auto& reader : readers_) {
            const named_array* const found = coherence::find_array(reader->arrays(), offset);
            if (found == nullptr) continue;
            last_array_ = *found;
            last_number_ = number_of(*found);
            return last_number_;
        }
        return 0;
    }
    std::size_t number_of(const named_array& array) {
        const auto same = [&](const named_array& one) { return one.offset == array.offset; };
        const auto found = std::ranges::find_if(arrays_, same);
        if (found != arrays_.end()) return static_cast<std::size_t>(found - arrays_.begin()) + 1;
        arrays_.push_back(array);
        return arrays_.size();
    }

    replayed_space result(std::size_t most_worst) const {
        replayed_space space{.run = head_.run,
                             .number = head_.space,
                             .ranks = head_.ranks,
                             .block_bytes = head_.block_bytes,
                             .arrays = {},
                             .worst = {}};
        for (const auto& reader : readers_) {
            space.misses += reader->misses();
            space.waited_ps += reader->waited_ps();
            space.left_out += reader->left_out();
            space.is_whole = space.is_whole && reader->is_whole();
        }
        for (const replayed_blocks& with_size : blocks_) {
            for (std::size_t number = 0; number < with_size.counts().size(); ++number) {
                replayed_array counts = with_size.counts()[number];
                if (counts.accesses == 0) continue;
                if (number != 0) counts.array = arrays_[number - 1].name;
                space.arrays.push_back(counts);
            }
            if (with_size.block_bytes() == head_.block_bytes)
                name_worst(with_size, most_worst, space);
        }
        return space;
    }
    void name_worst(const replayed_blocks& own, std::size_t most, replayed_space& space) const {
        for (const replayed_blocks::shared_falsely& one : own.worst(most)) {
            false_sharing named{
                .array = {}, .offset = one.place, .home = one.home, .useless_misses = one.misses};
            if (one.array != 0) {
                const named_array& array = arrays_[one.array - 1];
                const std::uint64_t offset = one.place + head_.offset;
                named.array = array.name;
                named.offset = offset - std::min(offset, array.offset);
            }
            space.worst.push_back(named);
        }
    }

    readers& readers_;
    trace_head head_;
    word_history words_;
    std::vector<replayed_blocks> blocks_;
    std::vector<named_array> arrays_;
    named_array last_array_;
    std::size_t last_number_ = 0;
};

}  // namespace

std::vector<replayed_space> replay_accesses(const std::string& folder,
                                            std::span<const std::size_t> block_sizes,
                                            std::size_t most_worst) {
    for (const std::size_t one : block_sizes) {
        if (std::has_single_bit(one) && one >= 8 && one <= 65536) continue;
        throw error(
            status::bad_argument,
            fmt::format("blocks of {} bytes: legal are powers of two from 8 to 65536", one));
    }
    std::vector<replayed_space> spaces;
    for (const auto& [name, paths] : find_all(folder)) {
        readers all = open_all(paths);
        spaces.push_back(replay(all, block_sizes).run(most_worst));
    }
    return spaces;
}

}  // namespace selion
