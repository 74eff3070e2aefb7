// SPDX-License-Identifier: Apache-2.0
// Calls of random sizes to workers that are processes, some of which die of them: every call is
// answered rightly or fails with its own error, once. Arguments: calls, how many of them in a
// million kill their worker, seed.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <selion/selion.hpp>

namespace {

enum class fate : std::uint32_t { answer, exception, segmentation_fault, quiet_exit };

std::uint64_t checksum(std::span<const std::uint64_t> data, std::uint64_t number) {
    std::uint64_t sum = number;
    for (const std::uint64_t each : data) sum = sum * 6364136223846793005u + each;
    return sum;
}

const selion::routine work{"work",
                           [](fate what, std::uint64_t number, std::span<const std::uint64_t> data,
                              std::span<std::uint64_t> copy) {
                               if (what == fate::exception)
                                   throw std::runtime_error(std::to_string(number));
                               if (what == fate::segmentation_fault) std::raise(SIGSEGV);
                               if (what == fate::quiet_exit) std::_Exit(3);
                               for (std::size_t i = 0; i < copy.size(); ++i)
                                   copy[i] = data[i] + number;
                               return checksum(data, number);
                           }};

struct asked {
    fate what;
    std::uint64_t number;
    std::vector<std::uint64_t> data;
    std::vector<std::uint64_t> copy;
    std::uint64_t expected;
    std::vector<selion::routine_call<std::uint64_t>> call;  // one

    bool is_answer_right() {
        if (call.front().result() != expected) return false;
        for (std::size_t i = 0; i < copy.size(); ++i) {
            if (copy[i] != data[i] + number) return false;
        }
        return true;
    }
};

struct tally {
    std::uint64_t answered = 0;
    std::uint64_t thrown = 0;
    std::uint64_t died = 0;
    std::uint64_t wrong = 0;
};

/// How a call came out, which must be how it had to.
void settle(asked& one, tally& counts) {
    try {
        one.call.front().wait();
        const bool is_right = one.what == fate::answer && one.is_answer_right();
        ++(is_right ? counts.answered : counts.wrong);
    } catch (const selion::routine_error& trouble) {
        const std::string text = trouble.what();
        const bool is_own = text.ends_with(": " + std::to_string(one.number));
        ++(one.what == fate::exception && is_own ? counts.thrown : counts.wrong);
    } catch (const selion::error& trouble) {
        const bool had_to = one.what == fate::segmentation_fault || one.what == fate::quiet_exit;
        ++(had_to && trouble.code() == selion::status::rank_dead ? counts.died : counts.wrong);
    }
}

class load {
public:
    load(std::uint64_t deaths, std::uint64_t seed) : random_(seed), deaths_(deaths) {}

    asked next(std::uint64_t number) {
        constexpr std::uint64_t million = 1'000'000;
        const std::uint64_t draw = random_() % million;
        asked made{fate::answer, number, {}, {}, 0, {}};
        if (draw < deaths_) made.what = draw % 2 == 0 ? fate::segmentation_fault : fate::quiet_exit;
        if (draw >= deaths_ && draw < deaths_ + million / 1000) made.what = fate::exception;
        // Mostly short, sometimes long.
        const std::size_t most = random_() % 100 == 0 ? 20'000 : 64;
        made.data.resize(random_() % most);
        for (std::uint64_t& each : made.data) each = random_();
        made.copy.resize(random_() % 2 == 0 ? made.data.size() : 0);
        made.expected = checksum(made.data, number);
        return made;
    }

private:
    std::mt19937_64 random_;
    std::uint64_t deaths_;
};

int run(selion::world& world, std::uint64_t calls, std::uint64_t deaths, std::uint64_t seed) {
    constexpr std::size_t most_under_way = 200;
    selion::worker_pool pool(world,
                             {.workers = 2, .kind = selion::worker_kind::process, .depth = 8});
    load source(deaths, seed);
    tally counts;
    std::deque<asked> under_way;
    for (std::uint64_t number = 0; number < calls; ++number) {
        under_way.push_back(source.next(number));
        asked& last = under_way.back();
        last.call.push_back(
            pool.call(work, last.what, last.number, last.data, selion::out(last.copy)));
        if (under_way.size() < most_under_way) continue;
        settle(under_way.front(), counts);
        under_way.pop_front();
    }
    for (asked& one : under_way) settle(one, counts);
    const selion::pool_counts told = pool.counts();
    std::printf("%llu answered, %llu thrown, %llu died, %llu wrong; %llu calls, %llu replaced\n",
                static_cast<unsigned long long>(counts.answered),
                static_cast<unsigned long long>(counts.thrown),
                static_cast<unsigned long long>(counts.died),
                static_cast<unsigned long long>(counts.wrong),
                static_cast<unsigned long long>(told.calls),
                static_cast<unsigned long long>(told.replaced));
    const bool is_whole = counts.answered + counts.thrown + counts.died == calls;
    return is_whole && counts.wrong == 0 && told.calls == calls && told.replaced == counts.died
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: test_worker_load CALLS DEATHS_IN_A_MILLION SEED\n");
        return 2;
    }
    const std::uint64_t calls = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t deaths = std::strtoull(argv[2], nullptr, 10);
    const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
    return selion::run(argc, argv, {.machine = "threads:1"},
                       [&](selion::world& world) { return run(world, calls, deaths, seed); });
}
