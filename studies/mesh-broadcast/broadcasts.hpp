// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"

/// The source's program: every core sends an array to all others, destination by destination.
namespace mesh_broadcast {

using measurement = std::function<void(selion::world&, const study::row_frame&)>;

/// How a core moves its array to one destination.
enum class method {
    direct,  ///< a loop that stores integer by integer, as in the source
    bulk,    ///< one put
    dma,     ///< its DMA engine, awaited; a chain over all destinations where there are several
};

/// What is sent, and how often.
struct broadcast {
    selion::schedule_algorithm order = selion::schedule_algorithm::pass_up;
    std::uint32_t ints = 1;
    std::uint32_t iterations = 200;  ///< one after another, as in the source, which does 10,000
    method how = method::direct;
    bool has_equal_costs = false;  ///< no order's program is slower than another's
    bool has_barrier = false;      ///< before each iteration
    /// Cycles; each core begins up to so much later. Assumed because the host starts one core after
    /// another, and nothing in the source's program brings them together again.
    std::uint32_t start_skew = 300;
    std::uint32_t pass_up_thirds = 12;  ///< of a cycle, for each destination in that order
    std::uint64_t seed = 1;
};

/// Whether the machine's routers are metered.
bool has_routers();
/// Whether each router has a rank whose meters count for it; else rank 0 prints that what all of
/// them count is left out.
bool has_rank_on_each_core(const selion::world& world);
/// Whether the ranks are on a mesh of so many rows and columns; else rank 0 prints that the point
/// is skipped. @param side 0: of any size.
bool is_on_mesh(const selion::world& world, std::uint32_t side);

/// What came out, on rank 0; of one iteration, in the mean over all cores.
struct outcome {
    double ticks = 0;              ///< of the machine's clock: cycles
    double wait_ticks = 0;         ///< in which the core's stores stood still
    double router_wait_ticks = 0;  ///< in which something at the core's router found no room
    double messages = 0;           ///< of all cores
    double hops = 0;               ///< of all transactions, from router to router
};

/// Lets what is under way in the mesh arrive, without sending anything.
void let_arrive(const broadcast& what);

/// One of the ranks' own programs, for those who meter it in other ways.
class sender {
public:
    /// Collective: allocates. `what` must live as long.
    sender(selion::world& world, const broadcast& what);
    /// Collective: compares what has arrived with what was sent; a difference ends the job with a
    /// sentence. Then gives the memory back. @pre everybody has passed a barrier.
    void check_and_release();
    /// One all-to-all broadcast, this core's part.
    void send_to_all();

private:
    void send_chain();

    selion::world& world_;
    const broadcast& what_;
    selion::global_ptr<std::int32_t> landing_;  ///< everybody's array, one after another
    std::vector<std::uint32_t> order_;
    std::vector<std::int32_t> own_;
};

/// Collective. The arrays that have arrived are compared with what was sent; a difference ends the
/// job with a sentence.
outcome run(selion::world& world, const broadcast& what);

/// Cycles that the program of an order takes for `destinations` of them, besides the copy loop.
std::uint32_t cycles_of_order(const broadcast& what, std::uint32_t destinations);

/// @error study::bad_argument with the legal orders.
selion::schedule_algorithm read_order(const nlohmann::ordered_json& params);
method read_method(const nlohmann::ordered_json& params);
/// @error study::bad_argument unless it is from 1 to `most`.
std::uint32_t read_count(const nlohmann::ordered_json& params, const char* key, std::uint32_t most);

}  // namespace mesh_broadcast
