// SPDX-License-Identifier: Apache-2.0
//
// A table of keys and values over all ranks. A key's hash says who has it; whoever wants to insert,
// find or erase it calls a function there, and need not wait for the answer at once.
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"
#include "random_numbers.hpp"

namespace {

/// The value of a key, if it has one. Trivially copyable, so that it can travel.
using found_value = std::optional<std::uint64_t>;

/// Operations that one rank starts on one key happen in the order in which it starts them, because
/// messages from one rank to another do not overtake each other.
class key_value_table {
public:
    /// Collective.
    explicit key_value_table(const selion::world& world)
        : size_(world.size()), entrance_(selion::allocate<shelf*>(world, 1)) {
        // The pointer means something to its own rank alone. Others pass on where it lies, and the
        // function that they call looks it up.
        *entrance_.local() = own_.get();
        world.barrier();  // nobody is called before its shelf can be found
    }
    /// Collective. @pre all answers have come.
    void release(const selion::world& world) { selion::deallocate(world, entrance_); }

    /// Each of them tells the value that the key had before.
    selion::future<found_value> insert(std::uint64_t key, std::uint64_t value) const {
        return selion::rpc(owner(key), insert_here, entrance_.on(owner(key)), key, value);
    }
    selion::future<found_value> find(std::uint64_t key) const {
        return selion::rpc(owner(key), find_here, entrance_.on(owner(key)), key);
    }
    selion::future<found_value> erase(std::uint64_t key) const {
        return selion::rpc(owner(key), erase_here, entrance_.on(owner(key)), key);
    }

    /// What the calling rank has. @pre no operation is under way.
    const std::unordered_map<std::uint64_t, std::uint64_t>& own_part() const { return *own_; }

private:
    // Calls of one rank run one at a time, so a shelf needs no lock.
    using shelf = std::unordered_map<std::uint64_t, std::uint64_t>;
    using entrance = selion::global_ptr<shelf*>;

    static found_value insert_here(entrance at, std::uint64_t key, std::uint64_t value) {
        const auto [place, is_new] = (*at.local())->try_emplace(key, value);
        return is_new ? std::nullopt : found_value(std::exchange(place->second, value));
    }
    static found_value find_here(entrance at, std::uint64_t key) {
        const auto place = (*at.local())->find(key);
        return place == (*at.local())->end() ? std::nullopt : found_value(place->second);
    }
    static found_value erase_here(entrance at, std::uint64_t key) {
        const auto taken = (*at.local())->extract(key);
        return taken.empty() ? std::nullopt : found_value(taken.mapped());
    }

    /// Not the key itself: keys may be multiples of the number of ranks.
    selion::rank_id owner(std::uint64_t key) const { return examples::random_bits(key) % size_; }

    std::uint32_t size_;
    std::unique_ptr<shelf> own_ = std::make_unique<shelf>();
    entrance entrance_;
};

struct settings {
    std::uint64_t operations = 20'000;
    std::uint64_t keys = 500;
    std::size_t depth = 32;
};

/// Random operations come from so many streams, whatever the number of ranks that carry them out.
/// Each stream has keys of its own, so a plain map foretells every answer.
constexpr std::uint64_t streams = 16;

/// One stream: starts operations, and compares answers as they come.
class stream {
public:
    stream(const key_value_table& table, std::uint64_t number, const settings& chosen)
        : table_(&table), number_(number), chosen_(chosen) {}

    void start_next() {
        const std::uint64_t bits = examples::random_bits(drawn_++ * streams + number_);
        const std::uint64_t key = (bits >> 8) % chosen_.keys * streams + number_;
        const auto known = model_.find(key);
        const found_value before =
            known == model_.end() ? std::nullopt : found_value(known->second);
        switch (bits % 4) {
            case 0:
                model_.erase(key);
                await({table_->erase(key), before});
                break;
            case 1: await({table_->find(key), before}); break;
            default: model_[key] = bits; await({table_->insert(key, bits), before});
        }
    }

    /// Waits for all answers, and looks up every key once more.
    void finish() {
        for (std::uint64_t i = 0; i < chosen_.keys; ++i) {
            const std::uint64_t key = i * streams + number_;
            const auto known = model_.find(key);
            await({table_->find(key),
                   known == model_.end() ? std::nullopt : found_value(known->second)});
        }
        while (!under_way_.empty()) compare_oldest();
    }

    std::uint64_t wrong_answers() const { return wrong_; }
    std::uint64_t size() const { return model_.size(); }

private:
    struct call {
        selion::future<found_value> answer;
        found_value expected;
    };
    void await(call started) {
        under_way_.push_back(std::move(started));
        if (under_way_.size() >= chosen_.depth) compare_oldest();
    }
    void compare_oldest() {
        if (under_way_.front().answer.get() != under_way_.front().expected) ++wrong_;
        under_way_.pop_front();
    }

    const key_value_table* table_;
    std::uint64_t number_;
    settings chosen_;
    std::map<std::uint64_t, std::uint64_t> model_;
    std::deque<call> under_way_;
    std::uint64_t drawn_ = 0;
    std::uint64_t wrong_ = 0;
};

int work(selion::world& world, const settings& chosen) {
    key_value_table table(world);
    std::uint64_t wrong = 0;
    std::uint64_t expected_size = 0;
    for (std::uint64_t number = world.rank(); number < streams; number += world.size()) {
        stream one(table, number, chosen);
        const std::uint64_t share = chosen.operations / streams;
        const std::uint64_t rest = number < chosen.operations % streams ? 1 : 0;
        for (std::uint64_t i = 0; i < share + rest; ++i) one.start_next();
        one.finish();
        wrong += one.wrong_answers();
        expected_size += one.size();
    }
    wrong = world.all_reduce(wrong, selion::plus);
    expected_size = world.all_reduce(expected_size, selion::plus);
    // All have their answers, so nothing changes any more.
    std::uint64_t sum = 0;  // the same for every number of ranks
    for (const auto& [key, value] : table.own_part()) {
        sum += examples::scatter(examples::random_bits(key) + value);
    }
    sum = world.all_reduce(sum, selion::plus);
    const std::uint64_t size =
        world.all_reduce(std::uint64_t{table.own_part().size()}, selion::plus);
    table.release(world);

    if (world.rank() != 0) return 0;
    if (wrong != 0 || size != expected_size) {
        std::fprintf(stderr,
                     "key_value: %" PRIu64 " wrong answers; %" PRIu64
                     " keys are there, and should be %" PRIu64 "\n",
                     wrong, size, expected_size);
        return 1;
    }
    std::printf("%" PRIu64 " operations on %u ranks: %" PRIu64
                " keys are left, checksum 0x%016" PRIx64 "\n",
                chosen.operations, world.size(), size, sum);
    std::printf("every answer is what a plain map would have said\n");
    return examples::printed("key_value", 0);
}

constexpr const char* help = R"(key_value: a table of keys and values over all ranks

  --operations N   random ones, on all ranks together [20000]
  --keys N         of each of 16 streams of operations [500]
  --depth N        operations of a stream under way at a time, at most [32]
  --help           print this

Every answer is compared with a plain map's. SELION_MACHINE chooses where it runs. Exit status: 0,
1 if an answer is wrong, 2 for an argument or an output that cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    examples::command_line line("key_value", help);
    line.number<std::uint64_t>("--operations", chosen.operations, 1, 1'000'000'000);
    line.number<std::uint64_t>("--keys", chosen.keys, 1, 10'000'000);
    line.number<std::size_t>("--depth", chosen.depth, 1, 10'000);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return work(world, chosen); });
}
