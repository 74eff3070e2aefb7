// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "measurement.hpp"

/// The collectives that are compared, over whatever a contestant has of them. Besides what
/// `measurement` asks for, a contestant has size(), memory(count), which returns that many doubles
/// that live as long as it does, least_bytes and most_bytes, and those of
///   broadcast(data, count, root)         fills everybody's data with the root's
///   all_reduce(data, count)              sums, in place
///   exchange(to_each, from_each)         one double for each rank
///   all_gather(own, all)                 one double from each rank
namespace bench::collectives {

inline std::string size_text(std::size_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + " B";
    if (bytes < 1024 * 1024) return std::to_string(bytes / 1024) + " KiB";
    return std::to_string(bytes / 1024 / 1024) + " MiB";
}

/// Ends the program unless a value is what it must be.
inline void expect(const std::string& operation, std::uint32_t rank, std::size_t index,
                   double value, double right) {
    if (value == right) return;
    std::fprintf(stderr, "%s: element %zu of rank %u is %g; right would be %g\n", operation.c_str(),
                 index, rank, value, right);
    std::_Exit(1);
}

/// An element of a rank's data. Whole numbers below 2^24, whose sums are exact in any order.
inline double element(std::uint32_t rank, std::size_t index) {
    return static_cast<double>((rank + 1) * (index % 251 + 1));
}

template <class Contestant>
void check_broadcast(Contestant& who, const std::string& operation, double* data,
                     std::size_t count) {
    for (const std::uint32_t root : {std::uint32_t{0}, who.size() / 2, who.size() - 1}) {
        for (std::size_t i = 0; i < count; ++i) data[i] = element(who.rank(), i);
        who.barrier();
        who.broadcast(data, count, root);
        for (std::size_t i = 0; i < count; ++i) {
            expect(operation, who.rank(), i, data[i], element(root, i));
        }
        who.barrier();
    }
}

template <class Contestant>
void check_all_reduce(Contestant& who, const std::string& operation, double* data,
                      std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) data[i] = element(who.rank(), i);
    who.barrier();
    who.all_reduce(data, count);
    const double of_ranks = who.size() * (who.size() + 1.0) / 2;
    for (std::size_t i = 0; i < count; ++i) {
        expect(operation, who.rank(), i, data[i], of_ranks * element(0, i));
    }
    who.barrier();
}

/// The ranks take turns as root. Who sends has just got the data, so that they are dirty in its own
/// cache, as data are that were just computed.
template <class Contestant>
void measure_broadcast(measurement<Contestant>& all, std::size_t bytes) {
    const std::string operation = "broadcast " + size_text(bytes);
    if (!all.wants(operation)) return;
    Contestant& who = all.who();
    const std::size_t count = bytes / sizeof(double);
    double* const data = who.memory(count);
    check_broadcast(who, operation, data, count);
    const std::uint32_t ranks = who.size();
    all.repeat(operation, [&who, data, count, ranks](std::uint64_t turn) {
        who.broadcast(data, count, static_cast<std::uint32_t>(turn % ranks));
        clobber();
    });
}

/// In place: what a rank gives is what it has just got. Zeros, which stay zeros.
template <class Contestant>
void measure_all_reduce(measurement<Contestant>& all, std::size_t bytes) {
    const std::string operation = "all_reduce " + size_text(bytes);
    if (!all.wants(operation)) return;
    Contestant& who = all.who();
    const std::size_t count = bytes / sizeof(double);
    double* const data = who.memory(count);
    check_all_reduce(who, operation, data, count);
    std::fill(data, data + count, 0.0);
    all.repeat(operation, [&who, data, count](std::uint64_t) {
        who.all_reduce(data, count);
        clobber();
    });
}

template <class Contestant>
void measure_exchange(measurement<Contestant>& all) {
    const std::string operation = "exchange 8 B";
    if (!all.wants(operation)) return;
    Contestant& who = all.who();
    double* const to_each = who.memory(who.size());
    double* const from_each = who.memory(who.size());
    for (std::uint32_t i = 0; i < who.size(); ++i) to_each[i] = 1000.0 * who.rank() + i;
    who.barrier();
    who.exchange(to_each, from_each);
    for (std::uint32_t i = 0; i < who.size(); ++i) {
        expect(operation, who.rank(), i, from_each[i], 1000.0 * i + who.rank());
    }
    all.repeat(operation, [&who, to_each, from_each](std::uint64_t) {
        who.exchange(to_each, from_each);
        clobber();
    });
}

template <class Contestant>
void measure_all_gather(measurement<Contestant>& all) {
    const std::string operation = "all_gather 8 B";
    if (!all.wants(operation)) return;
    Contestant& who = all.who();
    double* const own = who.memory(1);
    double* const everybody = who.memory(who.size());
    *own = 3.0 * who.rank() + 1;
    who.barrier();
    who.all_gather(own, everybody);
    for (std::uint32_t i = 0; i < who.size(); ++i) {
        expect(operation, who.rank(), i, everybody[i], 3.0 * i + 1);
    }
    all.repeat(operation, [&who, own, everybody](std::uint64_t) {
        who.all_gather(own, everybody);
        clobber();
    });
}

/// Broadcast and all_reduce of one size, where the contestant has them.
template <class Contestant>
void measure_size(measurement<Contestant>& all, std::size_t bytes) {
    if (bytes < all.who().least_bytes() || bytes > all.who().most_bytes()) return;
    if constexpr (requires(Contestant& who, double* data) { who.broadcast(data, 1, 0); }) {
        measure_broadcast(all, bytes);
    }
    if constexpr (requires(Contestant& who, double* data) { who.all_reduce(data, 1); }) {
        measure_all_reduce(all, bytes);
    }
}

/// Every operation that the contestant has, quick ones first.
template <class Contestant>
void measure_operations(measurement<Contestant>& all) {
    Contestant& who = all.who();
    if (who.least_bytes() == 0) all.repeat("barrier", [&who](std::uint64_t) { who.barrier(); });
    measure_size(all, 8);
    if (who.least_bytes() <= 8) {
        if constexpr (requires(double* data) { who.exchange(data, data); }) measure_exchange(all);
        if constexpr (requires(double* data) { who.all_gather(data, data); }) {
            measure_all_gather(all);
        }
    }
    for (const std::size_t bytes : {4u << 10, 64u << 10, 1u << 20}) measure_size(all, bytes);
}

}  // namespace bench::collectives
