// SPDX-License-Identifier: Apache-2.0
/// Random operations between all ranks, held against what a sequential program would have got, and
/// memory that stays within a bound.
///
///   network_load SECONDS SEED [lost|word]
///
/// Each rank has a region in every rank's memory that only it writes, and keeps a copy of each, the
/// shadow. It puts, signals, gets, changes words and sends messages, at times more than the other
/// one takes; at times it computes and takes nothing. After some hundred operations all meet and
/// compare, then do collectives. A fault is put in on purpose by `lost`: puts that are not made,
/// and `word`: a word of a rank's memory that it changes itself. Exit status 1 if anything is
/// wrong, with the seed.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t region_bytes = 512 << 10;
constexpr std::size_t most_message_bytes = 192 << 10;
constexpr std::uint32_t most_ranks = 64;
constexpr std::uint64_t faulty_phase = 3;

// What the protocol of the network says it keeps: frames on the way in both directions, answers
// that wait, a message that comes in parts in each class; and what is there once, buffers and the
// rest.
constexpr std::uint64_t frame_bytes = 15'360;
constexpr std::uint64_t window_frames = 64;
constexpr std::uint64_t bytes_of_peer = 3 * window_frames * frame_bytes + 2 * most_message_bytes;
constexpr std::uint64_t bytes_of_process = 192 * frame_bytes + (24 << 20);

std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
    std::uint64_t hash = bytes.size();
    for (std::size_t i = 0; i + sizeof hash <= bytes.size(); i += sizeof hash) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 29;
    }
    return hash;
}

/// What message `number` of a rank consists of.
void fill_message(std::span<std::byte> data, std::uint32_t origin, std::uint64_t number) {
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<std::byte>(number + i * 7 + i / 251 + origin * 31);
    }
}

/// What one rank says to another at the end of a phase.
struct account {
    std::uint64_t messages = 0;
    std::uint64_t signals = 0;
    std::uint64_t added = 0;  ///< to the word that all change
    std::uint64_t word = 0;   ///< the one that only the teller changes
    std::uint64_t hash = 0;   ///< of its region
};

/// A rank's memory: what `origin` writes is at that index.
struct cells {
    account told[most_ranks];
    std::uint64_t words[most_ranks];
    std::uint64_t added_by_all;
    selion::signal signals[most_ranks];
};

/// Of one rank, for handlers.
struct inbox {
    std::vector<std::uint64_t> handled = std::vector<std::uint64_t>(most_ranks);
    std::uint64_t faults = 0;
    std::uint32_t rank = 0;
};
/// Ranks are processes here.
inbox arrived;

struct note {
    std::uint64_t number;
    std::uint64_t bytes;
};

selion::arrival receive(const note& came, selion::message_info about) {
    std::uint64_t& handled = arrived.handled[about.origin];
    std::vector<std::byte> wanted(came.bytes);
    fill_message(wanted, about.origin, came.number);
    const bool is_right = came.number == handled && about.data.size() == wanted.size() &&
                          std::ranges::equal(about.data, wanted);
    if (!is_right) {
        ++arrived.faults;
        std::fprintf(stderr, "rank %u: message %llu of rank %u came where %llu was to come\n",
                     arrived.rank, static_cast<unsigned long long>(came.number),
                     static_cast<std::uint32_t>(about.origin),
                     static_cast<unsigned long long>(handled));
    }
    handled = came.number + 1;
    return {};
}

/// A line of /proc/self/status, in bytes.
std::uint64_t status_bytes(const char* name) {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    const std::size_t length = std::strlen(name);
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        if (std::strncmp(line, name, length) == 0) kib = std::strtoull(line + length, nullptr, 10);
    }
    if (file != nullptr) std::fclose(file);
    return kib * 1024;
}

class load {
public:
    load(selion::world& world, std::uint64_t seed, std::string_view fault)
        : world_(world),
          seed_(seed),
          fault_(fault),
          own_random_(mixed(seed) + world.rank()),
          common_random_(mixed(seed + 1)),
          regions_(selion::allocate<std::byte>(world, region_bytes * world.size())),
          cells_(selion::allocate<cells>(world, 1)),
          shadows_(world.size(), std::vector<std::byte>(region_bytes)),
          told_(world.size()),
          noise_(2 * region_bytes) {
        arrived.rank = world.rank();
        for (std::byte& one : noise_) one = static_cast<std::byte>(own_random_());
        std::memset(regions_.local(), 0, region_bytes * world.size());
        world.barrier();
        first_bytes_ = std::max(status_bytes("VmRSS:"), status_bytes("VmHWM:"));
    }

    int run(double seconds) {
        const std::int64_t end_ns = world_.now() + static_cast<std::int64_t>(seconds * 1e9);
        bool is_done = false;
        while (!is_done) {
            ++phase_;
            const std::uint64_t count = 100 + own_random_() % 300;
            for (std::uint64_t i = 0; i < count; ++i) operate();
            compare();
            collectives();
            std::uint64_t is_over = world_.now() >= end_ns ? 1 : 0;
            world_.broadcast(std::span(&is_over, 1), selion::team_rank(0));
            const std::uint64_t faults = world_.all_reduce(faults_ + arrived.faults, selion::plus);
            is_done = is_over != 0 || faults != 0;
            faults_of_all_ = faults;
        }
        return report();
    }

private:
    std::uint64_t draw(std::uint64_t below) { return own_random_() % below; }
    /// Short ones and long ones, as many of each power of two.
    std::size_t draw_length(std::size_t most) {
        const auto power = draw(static_cast<std::uint64_t>(std::bit_width(most)));
        return std::min<std::size_t>(most,
                                     (std::size_t{1} << power) + draw(std::uint64_t{1} << power));
    }
    std::span<const std::byte> draw_data(std::size_t bytes) {
        return {noise_.data() + draw(region_bytes), bytes};
    }
    void fault(const std::string& what) {
        ++faults_;
        std::fprintf(stderr, "rank %u: %s, in phase %llu\n",
                     static_cast<std::uint32_t>(world_.rank()), what.c_str(),
                     static_cast<unsigned long long>(phase_));
    }
    selion::global_ptr<std::byte> region_on(std::uint32_t target) {
        return regions_.on(target) + static_cast<std::ptrdiff_t>(region_bytes * world_.rank());
    }
    bool is_lost() const {
        return fault_ == "lost" && world_.rank() == 0 && phase_ >= faulty_phase;
    }

    void operate() {
        const auto target = static_cast<std::uint32_t>(draw(world_.size()));
        ++operations_;
        switch (draw(10)) {
            case 0:
            case 1:
            case 2: return put(target);
            case 3: return put_signal(target);
            case 4: return get_some(target);
            case 5:
            case 6: return change_words(target);
            case 7: return send(target, 1, draw_length(most_message_bytes));
            case 8: return call(target);
            default: return rarely(target);
        }
    }
    void put(std::uint32_t target) {
        const std::size_t bytes = draw_length(region_bytes);
        const std::size_t offset = draw(region_bytes - bytes + 1);
        const std::span<const std::byte> data = draw_data(bytes);
        std::memcpy(shadows_[target].data() + offset, data.data(), bytes);
        if (is_lost()) return;
        selion::put(region_on(target) + static_cast<std::ptrdiff_t>(offset), data);
    }
    void put_signal(std::uint32_t target) {
        const std::size_t bytes = draw_length(region_bytes);
        const std::size_t offset = draw(region_bytes - bytes + 1);
        const std::span<const std::byte> data = draw_data(bytes);
        std::memcpy(shadows_[target].data() + offset, data.data(), bytes);
        ++told_[target].signals;
        selion::put_signal(region_on(target) + static_cast<std::ptrdiff_t>(offset), data,
                           signal_on(target), selion::signal_add(1));
    }
    selion::global_ptr<selion::signal> signal_on(std::uint32_t target) {
        return cells_.on(target).member(&cells::signals).reinterpret<selion::signal>() +
               static_cast<std::ptrdiff_t>(world_.rank());
    }
    /// Several at once, which have to see all that was put before.
    void get_some(std::uint32_t target) {
        selion::quiet();
        const std::size_t bytes = draw_length(region_bytes / 4);
        const std::size_t count = 1 + draw(4);
        std::vector<std::size_t> offsets(count);
        got_.assign(count * bytes, std::byte{0});
        {
            selion::transfers all;
            for (std::size_t i = 0; i < count; ++i) {
                offsets[i] = draw(region_bytes - bytes + 1);
                all.get(std::span(got_.data() + i * bytes, bytes),
                        region_on(target) + static_cast<std::ptrdiff_t>(offsets[i]));
            }
            all.sync();
        }
        for (std::size_t i = 0; i < count; ++i) {
            const bool is_right = std::memcmp(got_.data() + i * bytes,
                                              shadows_[target].data() + offsets[i], bytes) == 0;
            if (!is_right) {
                fault("a get of " + std::to_string(bytes) + " bytes from rank " +
                      std::to_string(target) + " differs from what was put");
            }
        }
    }
    void change_words(std::uint32_t target) {
        const auto own = cells_.on(target).member(&cells::words).reinterpret<std::uint64_t>() +
                         static_cast<std::ptrdiff_t>(world_.rank());
        std::uint64_t& word = told_[target].word;
        for (std::uint64_t i = 0; i <= draw(8); ++i) {
            const std::uint64_t operand = own_random_();
            const std::uint64_t wanted = word;
            std::uint64_t before = 0;
            switch (draw(4)) {
                case 0:
                    before = selion::fetch_add(own, operand);
                    word += operand;
                    break;
                case 1:
                    before = selion::swap(own, operand);
                    word = operand;
                    break;
                case 2:
                    before = selion::fetch_or(own, operand);
                    word |= operand;
                    break;
                default: before = selion::compare_swap(own, wanted, operand); word = operand;
            }
            if (before != wanted) fault("an atomic has found another value than the last one left");
        }
        const std::uint64_t amount = draw(1000);
        told_[target].added += amount;
        selion::fetch_add(cells_.on(target).member(&cells::added_by_all), amount);
    }
    void send(std::uint32_t target, std::uint64_t count, std::size_t bytes) {
        std::vector<std::byte> data(bytes);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t number = told_[target].messages++;
            fill_message(data, world_.rank(), number);
            selion::send(target, receive, note{number, bytes}, data);
        }
    }
    void call(std::uint32_t target) {
        const std::uint64_t argument = own_random_();
        if (selion::rpc(target, mixed, argument).get() != mixed(argument)) {
            fault("a call has brought a wrong result");
        }
    }
    /// More than the other one takes, or nothing taken for a while.
    void rarely(std::uint32_t target) {
        switch (draw(8)) {
            case 0: return send(target, 100 + draw(200), draw(64));
            case 1: return send(target, 4 + draw(8), most_message_bytes);
            case 2: {
                for (std::uint64_t i = 0; i < 100 + draw(200); ++i) put_short(target);
                return;
            }
            case 3: {
                const std::int64_t end_ns =
                    world_.now() + static_cast<std::int64_t>(draw(3'000'000));
                while (world_.now() < end_ns) {
                }
                return;
            }
            default: selion::progress();
        }
    }
    void put_short(std::uint32_t target) {
        const std::size_t offset = draw(region_bytes - 8);
        const std::span<const std::byte> data = draw_data(8);
        std::memcpy(shadows_[target].data() + offset, data.data(), data.size());
        selion::put(region_on(target) + static_cast<std::ptrdiff_t>(offset), data);
    }

    /// All meet, and each compares its memory with what the others have told.
    void compare() {
        for (std::uint32_t target = 0; target < world_.size(); ++target) {
            told_[target].hash = hash_of(shadows_[target]);
            selion::put(cells_.on(target).member(&cells::told).reinterpret<account>() +
                            static_cast<std::ptrdiff_t>(world_.rank()),
                        told_[target]);
        }
        world_.barrier();
        // Of what rank 0 has put, and none of it is on its way any more.
        if (fault_ == "word" && world_.rank() == 1 && phase_ == faulty_phase) {
            regions_.local()[8] ^= std::byte{1};
        }
        cells& own = *cells_.local();
        std::uint64_t added = 0;
        for (std::uint32_t origin = 0; origin < world_.size(); ++origin) {
            const account& told = own.told[origin];
            added += told.added;
            compare_with(origin, told);
        }
        if (own.added_by_all != added) fault("the sum of all that was added is another");
        world_.barrier();
    }
    void compare_with(std::uint32_t origin, const account& told) {
        const std::string of_rank = " of rank " + std::to_string(origin);
        // Nobody waits for handlers but who counts them.
        while (arrived.handled[origin] < told.messages) selion::progress();
        cells& own = *cells_.local();
        const auto signals = cells_.member(&cells::signals).reinterpret<selion::signal>() +
                             static_cast<std::ptrdiff_t>(origin);
        if (arrived.handled[origin] != told.messages) fault("too many messages" + of_rank);
        if (selion::read_signal(signals) != told.signals) fault("signals are missing" + of_rank);
        if (own.words[origin] != told.word) fault("a word has another value" + of_rank);
        const std::span<const std::byte> region(regions_.local() + region_bytes * origin,
                                                region_bytes);
        if (hash_of(region) != told.hash) fault("memory differs from the shadow" + of_rank);
    }

    void collectives() {
        const std::size_t count = 1 + common_random_() % 20'000;
        const auto root = static_cast<std::uint32_t>(common_random_() % world_.size());
        const std::uint64_t salt = common_random_();
        std::vector<std::uint64_t> data(count);
        for (std::size_t i = 0; i < count; ++i) data[i] = mixed(salt + i * (world_.rank() + 1));
        world_.all_reduce(std::span(data), selion::plus);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t sum = 0;
            for (std::uint64_t rank = 0; rank < world_.size(); ++rank) {
                sum += mixed(salt + i * (rank + 1));
            }
            if (data[i] != sum) return fault("an all_reduce has brought a wrong sum");
        }
        for (std::size_t i = 0; i < count; ++i)
            data[i] = world_.rank() == root ? mixed(salt ^ i) : 0;
        world_.broadcast(std::span(data), selion::team_rank(root));
        for (std::size_t i = 0; i < count; ++i) {
            if (data[i] != mixed(salt ^ i)) return fault("a broadcast has brought something else");
        }
    }

    int report() {
        const std::uint64_t most = status_bytes("VmHWM:");
        const std::uint64_t bound =
            first_bytes_ + (world_.size() - 1) * bytes_of_peer + bytes_of_process;
        std::printf(
            "rank %u: %llu operations in %llu phases, memory %llu KiB at first, %llu at most, "
            "%llu allowed\n",
            static_cast<std::uint32_t>(world_.rank()), static_cast<unsigned long long>(operations_),
            static_cast<unsigned long long>(phase_),
            static_cast<unsigned long long>(first_bytes_ >> 10),
            static_cast<unsigned long long>(most >> 10),
            static_cast<unsigned long long>(bound >> 10));
        if (most > bound) fault("memory has grown beyond its bound");
        const bool is_right = faults_of_all_ == 0 && faults_ == 0;
        if (!is_right) {
            std::fprintf(stderr, "rank %u: wrong with seed %llu\n",
                         static_cast<std::uint32_t>(world_.rank()),
                         static_cast<unsigned long long>(seed_));
        }
        return is_right ? 0 : 1;
    }

    selion::world& world_;
    std::uint64_t seed_;
    std::string_view fault_;
    std::mt19937_64 own_random_;
    std::mt19937_64 common_random_;  ///< the same numbers on all ranks
    selion::global_ptr<std::byte> regions_;
    selion::global_ptr<cells> cells_;
    std::vector<std::vector<std::byte>> shadows_;  ///< of the own region on each rank
    std::vector<account> told_;                    ///< to each rank
    std::vector<std::byte> noise_;
    std::vector<std::byte> got_;
    std::uint64_t first_bytes_ = 0;
    std::uint64_t phase_ = 0;
    std::uint64_t operations_ = 0;
    std::uint64_t faults_ = 0;
    std::uint64_t faults_of_all_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    const std::string_view fault = argc > 3 ? argv[3] : "";
    const bool is_known = fault.empty() || fault == "lost" || fault == "word";
    if (!(seconds > 0) || argc < 3 || !is_known) {
        std::fputs("usage: network_load SECONDS SEED [lost|word]\n", stderr);
        return 2;
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        if (world.size() < 2 || world.size() > most_ranks) {
            std::fprintf(stderr, "network_load: 2 to %u ranks, not %u\n", most_ranks, world.size());
            return 2;
        }
        load all(world, seed, fault);
        return all.run(seconds);
    });
}
