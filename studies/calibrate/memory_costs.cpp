// SPDX-License-Identifier: Apache-2.0
#include "memory_costs.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <span>
#include <thread>

namespace calibrate {
namespace {

/// Zeroed memory in large pages where the system has them, so that loads wait for memory and not
/// for the tables that say where it is.
class large_block {
public:
    explicit large_block(std::uint64_t bytes) : bytes_(bytes) {
        void* const mapped =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        words_ = static_cast<std::uint64_t*>(mapped);
        madvise(mapped, bytes, MADV_HUGEPAGE);
    }
    ~large_block() { munmap(words_, bytes_); }
    large_block(const large_block&) = delete;
    large_block& operator=(const large_block&) = delete;

    std::span<std::uint64_t> words() const { return {words_, bytes_ / sizeof(std::uint64_t)}; }

private:
    std::uint64_t bytes_;
    std::uint64_t* words_ = nullptr;
};

constexpr std::uint64_t step_words = 128 / sizeof(std::uint64_t);  // processors fetch two lines
constexpr std::uint64_t chunk_words = (1 << 20) / sizeof(std::uint64_t);

std::uint64_t sum_of(std::span<const std::uint64_t> words) {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words) sum += word;
    return sum;
}

/// Reads its part chunk by chunk until all have taken their samples, so that nobody reads alone.
study::spread read_rate(const effort& how, std::span<std::uint64_t> part,
                        std::atomic<std::size_t>& still_sampling) {
    for (std::uint64_t& word : part) word = 1;
    const std::size_t chunks = part.size() / chunk_words;
    std::vector<double> rates;
    for (std::size_t i = 0; still_sampling.load(std::memory_order_relaxed) != 0; ++i) {
        const auto chunk = part.subspan(i % chunks * chunk_words, chunk_words);
        const std::int64_t start = now_ns();
        consume(sum_of(chunk));
        const std::int64_t taken = now_ns() - start;
        if (rates.size() == how.samples) continue;
        rates.push_back(static_cast<double>(chunk.size_bytes()) / static_cast<double>(taken));
        if (rates.size() == how.samples) {
            still_sampling.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    return study::spread_of(rates);
}

}  // namespace

std::uint64_t bytes_beyond_caches(const host_cores& host) {
    const std::uint64_t wanted =
        std::bit_ceil(std::max<std::uint64_t>(2 * host.last_cache_bytes, std::uint64_t{64} << 20));
    const std::uint64_t room =
        std::bit_floor(std::max<std::uint64_t>(host.memory_bytes / 4, std::uint64_t{16} << 20));
    return std::min({wanted, room, std::uint64_t{512} << 20});
}

study::spread from_memory_ns(const effort& how, std::uint64_t bytes) {
    const large_block block(bytes);
    std::uint64_t* const words = block.words().data();
    const std::uint64_t places = bytes / sizeof(std::uint64_t) / step_words;
    // A linear congruence over a power of two visits every place once, in an order that no
    // processor guesses.
    const auto after = [&](std::uint64_t place) {
        return (place * 1664525 + 1013904223) & (places - 1);
    };
    for (std::uint64_t place = 0; place < places; ++place) {
        words[place * step_words] = after(place) * step_words;
    }
    std::uint64_t at = 0;
    return time_steps(how, [&](std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) at = words[at];
        consume(at);
    });
}

study::spread bytes_per_ns(const effort& how, const std::vector<host_core>& cores,
                           std::uint64_t bytes) {
    const large_block block(bytes);
    const std::size_t share = block.words().size() / cores.size() / chunk_words * chunk_words;
    if (share == 0) throw std::bad_alloc();
    std::atomic<std::size_t> still_sampling = cores.size();
    std::vector<study::spread> rates(cores.size());
    {
        std::vector<std::jthread> readers;
        for (std::size_t i = 0; i < cores.size(); ++i) {
            readers.emplace_back([&, i] {
                bind_to(cores[i]);
                rates[i] = read_rate(how, block.words().subspan(i * share, share), still_sampling);
            });
        }
    }
    study::spread sum;
    for (const study::spread& each : rates) {
        sum.median += each.median;
        sum.p5 += each.p5;
        sum.p95 += each.p95;
        sum.n += each.n;
    }
    return sum;
}

}  // namespace calibrate
