// SPDX-License-Identifier: Apache-2.0
#include "applications.hpp"

#include <bit>
#include <cmath>
#include <string>

#include <selion/selion.hpp>

#include "calls.hpp"

namespace multicore {
namespace {

/// Time in collectives and in all.
class stopwatch {
public:
    explicit stopwatch(const selion::world& world) : world_(world), begun_ps_(world.now_ps()) {}

    template <class Call>
    void collective(const Call& call) {
        const std::int64_t begun_ps = world_.now_ps();
        call();
        in_collectives_ps_ += world_.now_ps() - begun_ps;
    }

    /// Of all ranks together. Collective.
    double percent() const {
        const auto all = static_cast<double>(world_.now_ps() - begun_ps_);
        const auto part = static_cast<double>(in_collectives_ps_);
        return 100 * world_.all_reduce(part, selion::plus) / world_.all_reduce(all, selion::plus);
    }

private:
    const selion::world& world_;
    std::int64_t begun_ps_;
    std::int64_t in_collectives_ps_ = 0;
};

/// Charged on machines in virtual time; on real ones so many floating-point operations are done.
void compute(const selion::world& world, const selion::work& amount) {
    if (!world.machine().capabilities.real_time) return selion::charge(amount);
    constexpr std::uint64_t flops_of_step = 8;
    double values[4] = {1, 2, 3, 4};
    for (std::uint64_t i = 0; i < amount.flops; i += flops_of_step) {
        for (double& value : values) {
            value = value * 0.5 + 0.5;
            asm volatile("" : "+x"(value));  // or the loop would be left out
        }
    }
}

/// Between processes as MPICH2 does it: short vectors by recursive doubling, long ones by halving.
void choose_between_processes(const selion::team& team, std::uint64_t doubles) {
    using selion::schedule_algorithm;
    constexpr std::uint64_t short_doubles = 256;
    if (team.split(selion::locality::process).size() == team.size()) return;
    const auto algorithm = doubles <= short_doubles ? schedule_algorithm::recursive_doubling
                                                    : schedule_algorithm::recursive_halving;
    team.choose(
        selion::collective_kind::all_reduce,
        selion::collective_choice{selion::collective_way::messages, {.algorithm = algorithm}});
}

/// A three-dimensional transform, cut into slabs: two dimensions are local, an exchange transposes
/// the cube, and the third is local then. Of as many points as class A of NAS FT has.
double fft_percent(const selion::world& world) {
    constexpr std::uint64_t points = std::uint64_t{256} * 256 * 128;
    constexpr std::uint64_t doubles_of_point = 2;
    constexpr int transforms = 2;
    const std::uint64_t own_points = points / world.size();
    const auto own = shared_doubles(world, own_points * doubles_of_point);
    const auto transposed = shared_doubles(world, own.size());
    // Of two points: a complex product and two sums, four words there and back.
    constexpr selion::work butterfly = selion::flops(10) + selion::loads(4) + selion::stores(4);
    const auto along = [&](std::uint64_t length) {
        compute(world, butterfly * (own_points / 2 * std::bit_width(length - 1)));
    };
    world.exchange(own, transposed);
    world.barrier();
    stopwatch watch(world);
    for (int i = 0; i < transforms; ++i) {
        along(256);
        along(256);
        watch.collective([&] { world.exchange(own, transposed); });
        along(128);
    }
    return watch.percent();
}

/// Conjugate gradients on ranks in rows and columns: partial products are summed along a row, and
/// dot products over all. Of as many rows and non-zeros as class C of NAS CG has.
double conjugate_gradient_percent(const selion::world& world) {
    constexpr std::uint64_t matrix_rows = 150'000;
    constexpr std::uint64_t non_zeros = 36'121'058;
    constexpr int iterations = 5;
    const std::uint32_t ranks = world.size();
    const std::uint32_t grid_rows = 1u << ((std::bit_width(ranks) - 1) / 2);
    const selion::team row = world.split(world.rank() / (ranks / grid_rows));
    const auto partial = shared_doubles(world, matrix_rows / grid_rows);
    choose_between_processes(world, 1);
    choose_between_processes(row, partial.size());
    const std::uint64_t own_rows = matrix_rows / ranks;
    constexpr selion::work of_non_zero = selion::flops(2) + selion::loads(3);
    constexpr selion::work of_dot = selion::flops(2) + selion::loads(2);
    constexpr selion::work of_update = of_dot + selion::stores(1);
    const auto sum_dot = [&](stopwatch& watch) {
        compute(world, of_dot * own_rows);
        watch.collective([&] { static_cast<void>(world.all_reduce(1.0, selion::plus)); });
    };
    row.all_reduce(partial, selion::plus);
    world.barrier();
    stopwatch watch(world);
    for (int i = 0; i < iterations; ++i) {
        compute(world, of_non_zero * (non_zeros / ranks));
        watch.collective([&] { row.all_reduce(partial, selion::plus); });
        sum_dot(watch);
        compute(world, of_update * (3 * own_rows));
        sum_dot(watch);
    }
    const double percent = watch.percent();
    world.choose(selion::collective_kind::all_reduce, {});
    return percent;
}

}  // namespace

measurement read_application(const nlohmann::ordered_json& params) {
    const auto kernel = study::parameter<std::string>(params, "kernel");
    const auto ranks = study::parameter<std::uint64_t>(params, "ranks");
    if (kernel != "fft_exchange" && kernel != "cg_reductions") {
        throw study::bad_argument("'kernel' is '" + kernel +
                                  "'; legal: fft_exchange, cg_reductions.");
    }
    if (ranks > 256 || !std::has_single_bit(ranks)) {
        throw study::bad_argument("'ranks' is " + std::to_string(ranks) +
                                  "; legal: powers of two up to 256.");
    }
    return [=](selion::world& world, const study::row_frame& frame) {
        if (world.size() != ranks) {
            return print_skip(
                world, world.machine().spec + " has " + std::to_string(world.size()) + " ranks");
        }
        const double percent =
            kernel == "fft_exchange" ? fft_percent(world) : conjugate_gradient_percent(world);
        print_value(world, frame, {"time_in_collectives_percent", "%"}, percent);
    };
}

}  // namespace multicore
