// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

#include <array>
#include <random>

namespace software_cache {
namespace {

using selion::global_ptr;

constexpr std::size_t most_listed = 100;

/// As in the source's program: a small header and two arrays, so that values lie far apart.
struct node {
    double value;
    std::uint64_t count;
    std::uint64_t next;  ///< of the source's list; not used here, where nodes stand in arrays
    std::array<global_ptr<double>, most_listed> dependencies;
    std::array<double, most_listed> coefficients;
};

/// How memory is read and written.
class cached_access {
public:
    explicit cached_access(const selion::coherent_space& space) : space_(space) {}
    template <class T>
    T read(global_ptr<T> where) const {
        return space_.at(where).get();
    }
    template <class T>
    void write(global_ptr<T> where, const T& value) const {
        space_.at(where).set(value);
    }

private:
    selion::coherent_space space_;
};

class plain_access {
public:
    template <class T>
    T read(global_ptr<T> where) const {
        if (where.local() != nullptr) selion::charge(plain_access_work);
        return selion::get(where);
    }
    template <class T>
    void write(global_ptr<T> where, const T& value) const {
        if (where.local() != nullptr) selion::charge(plain_access_work);
        selion::put(where, value);
    }
};

template <class T, std::size_t N>
global_ptr<T> element(global_ptr<node> of, std::array<T, N> node::*array, std::uint64_t index) {
    return of.member(array).template reinterpret<T>() + static_cast<std::ptrdiff_t>(index);
}

/// One processor's part.
template <class Access>
class fields {
public:
    fields(selion::world& world, const field_graph& graph, const Access& memory,
           global_ptr<node> electric, global_ptr<node> magnetic)
        : world_(world), graph_(graph), memory_(memory), electric_(electric), magnetic_(magnetic) {}

    /// Processor 0 writes all values and numbers of dependencies.
    void write_initial_values() {
        if (world_.rank() == 0) {
            for (std::uint32_t rank = 0; rank < world_.size(); ++rank) write_values(rank);
        }
        world_.barrier();
    }

    /// Then owners make their lists.
    void list_all_dependencies() {
        std::mt19937_64 random = stream(world_.rank(), 1);
        list_dependencies(electric_, magnetic_, random);
        list_dependencies(magnetic_, electric_, random);
        world_.barrier();
    }

    void iterate() {
        compute(electric_);
        world_.barrier();
        compute(magnetic_);
        world_.barrier();
    }

    std::uint64_t dependencies() const { return dependencies_; }

    double sum() const {
        double sum = 0;
        for (const global_ptr<node> kind : {electric_, magnetic_}) {
            for (std::size_t i = 0; i < graph_.nodes; ++i) {
                sum += memory_.read(at(kind, i).member(&node::value));
            }
        }
        return sum;
    }

private:
    std::mt19937_64 stream(std::uint32_t rank, std::uint32_t what) const {
        std::seed_seq seeds{static_cast<std::uint32_t>(graph_.seed), rank, what};
        return std::mt19937_64(seeds);
    }
    static global_ptr<node> at(global_ptr<node> first, std::size_t index) {
        return first + static_cast<std::ptrdiff_t>(index);
    }

    void write_values(std::uint32_t rank) {
        std::mt19937_64 random = stream(rank, 0);
        std::uniform_int_distribution<std::uint64_t> count(1, graph_.most_dependencies);
        for (const global_ptr<node> kind : {electric_, magnetic_}) {
            for (std::size_t i = 0; i < graph_.nodes; ++i) {
                const global_ptr<node> one = at(kind.on(rank), i);
                memory_.write(one.member(&node::value), 1.0 + static_cast<double>(i % 17));
                memory_.write(one.member(&node::count), count(random));
            }
        }
    }

    /// The source does not show this part. Five reads for each dependency and one for each node are
    /// as many as the published total has room for; were they of what the owner alone has had,
    /// table 5 would show more of those.
    void list_dependencies(global_ptr<node> own, global_ptr<node> others, std::mt19937_64& random) {
        std::uniform_int_distribution<std::uint32_t> percent(0, 39);
        std::uniform_int_distribution<std::size_t> which(0, graph_.nodes - 1);
        const std::uint32_t neighbour = (world_.rank() + 1) % world_.size();
        for (std::size_t i = 0; i < graph_.nodes; ++i) {
            const global_ptr<node> one = at(own, i);
            std::uint64_t k = 0;
            for (; k < memory_.read(one.member(&node::count)); ++k) {
                const bool is_remote = percent(random) < graph_.remote;
                const global_ptr<node> from = is_remote ? others.on(neighbour) : others;
                const auto dependency = element(one, &node::dependencies, k);
                const auto coefficient = element(one, &node::coefficients, k);
                memory_.write(dependency, at(from, which(random)).member(&node::value));
                memory_.write(coefficient, 1.0 / 1024);
                for (int look = 0; look < 2; ++look) {
                    memory_.read(one.member(&node::value));
                    memory_.read(one.member(&node::count));
                }
            }
            dependencies_ += k;
        }
    }

    /// The source's kernel: each value is read and written in memory for each of its dependencies.
    void compute(global_ptr<node> own) {
        for (std::size_t i = 0; i < graph_.nodes; ++i) {
            const global_ptr<node> one = at(own, i);
            const auto value = one.member(&node::value);
            for (std::uint64_t k = 0; k < memory_.read(one.member(&node::count)); ++k) {
                const auto from = memory_.read(element(one, &node::dependencies, k));
                const double coefficient = memory_.read(element(one, &node::coefficients, k));
                const double before = memory_.read(value);
                memory_.write(value, before - coefficient * memory_.read(from));
                selion::charge(selion::flops(2));
            }
            memory_.read(value);
        }
    }

    selion::world& world_;
    field_graph graph_;
    Access memory_;
    global_ptr<node> electric_;
    global_ptr<node> magnetic_;
    std::uint64_t dependencies_ = 0;
};

double seconds_since(const selion::world& world, std::int64_t begin_ps) {
    return static_cast<double>(world.now_ps() - begin_ps) * 1e-12;
}

template <class Access, class Count>
field_run run(selion::world& world, const field_graph& graph, const Access& memory,
              global_ptr<node> electric, global_ptr<node> magnetic, const Count& count) {
    fields<Access> own(world, graph, memory, electric, magnetic);
    field_run done;
    own.write_initial_values();
    const std::int64_t written_ps = world.now_ps();
    own.list_all_dependencies();
    const std::int64_t begin_ps = world.now_ps();
    for (std::uint32_t i = 0; i < graph.iterations; ++i) {
        own.iterate();
        if (i == 0) done.first_seconds = seconds_since(world, begin_ps);
    }
    done.seconds = seconds_since(world, begin_ps);
    done.list_seconds = static_cast<double>(begin_ps - written_ps) * 1e-12;
    count(done);
    done.dependencies = own.dependencies();
    world.barrier();
    done.checksum = world.all_reduce(own.sum(), selion::plus);
    return done;
}

}  // namespace

field_run run_fields(selion::world& world, const field_graph& graph, const setting& how) {
    if (how.block_bytes == 0) {
        const auto electric = selion::allocate<node>(world, graph.nodes);
        const auto magnetic = selion::allocate<node>(world, graph.nodes);
        const field_run done =
            run(world, graph, plain_access(), electric, magnetic, [](field_run&) {});
        selion::deallocate(world, magnetic);
        selion::deallocate(world, electric);
        return done;
    }
    const selion::coherent_space space(world, how.base_offset + 2 * graph.nodes * sizeof(node),
                                       {.block_bytes = how.block_bytes,
                                        .protocol = selion::cache_protocol::always,
                                        .consistency = how.consistency,
                                        .writes = how.writes,
                                        .has_statistics = how.has_statistics});
    space.skip(how.base_offset);
    const auto electric = space.take<node>(graph.nodes, "electric");
    const auto magnetic = space.take<node>(graph.nodes, "magnetic");
    const field_run done =
        run(world, graph, cached_access(space), electric, magnetic, [&](field_run& counted) {
            counted.own = counts_of(space);
            counted.accesses = space.accesses();
        });
    selion::deallocate(world, space);
    return done;
}

}  // namespace software_cache
