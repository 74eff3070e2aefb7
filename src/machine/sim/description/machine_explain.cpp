// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/units.hpp"
#include "machine/sim/description/machine_file.hpp"
#include "machine/sim/description/machine_units.hpp"
#include "machine/sim/model/closed_form.hpp"

namespace selion::machine::sim {
namespace {

/// "21.7 ns", "1.95 us".
std::string time_text(double ps) {
    constexpr std::array<std::string_view, 5> units{"ps", "ns", "us", "ms", "s"};
    std::size_t unit = 0;
    while (ps >= 999.5 && unit + 1 < units.size()) {
        ps /= 1000;
        ++unit;
    }
    return fmt::format("{:.3g} {}", ps, units[unit]);
}

class explainer {
public:
    explicit explainer(const machine_model& model) : model_(model) {}

    std::string text() {
        say("{}: {}\n", model_.name, model_.summary);
        paragraph("Shape", shape());
        paragraph("Time", clock());
        paragraph("Processor", processor(model_.processor));
        if (model_.master) paragraph("Rank 0's processor", processor(*model_.master));
        if (model_.node) paragraph("Memory of a node", node());
        if (model_.network != network_kind::none) {
            paragraph("Network", network());
            operations();
            paragraph("Messages", reception());
        }
        paragraph("Options", options());
        constants();
        return std::move(out_);
    }

private:
    template <class... Arguments>
    void say(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(out_), form, std::forward<Arguments>(arguments)...);
    }

    void paragraph(std::string_view title, const std::string& sentences) {
        if (!sentences.empty()) say("\n{}: {}\n", title, sentences);
    }

    std::string of(ticks amount) const { return of_ticks(static_cast<double>(amount)); }
    std::string of(const rate& each) const {
        return of_ticks(static_cast<double>(each.scaled) / 0x1p20);
    }
    std::string of_ticks(double amount) const {
        return time_text(amount * static_cast<double>(model_.tick.numerator_ps) /
                         static_cast<double>(model_.tick.denominator));
    }
    std::string speed(const rate& each) const {
        const double ps = static_cast<double>(each.scaled) / 0x1p20 *
                          static_cast<double>(model_.tick.numerator_ps) /
                          static_cast<double>(model_.tick.denominator);
        if (ps == 0) return "without limit";
        const double megabytes = 1e6 / ps;
        // Whole numbers from a thousand on: more digits than four would not be read.
        return megabytes < 1000 ? fmt::format("at {:.4g} MB/s", megabytes)
                                : fmt::format("at {:.0f} MB/s", megabytes);
    }

    std::string shape() const {
        std::string text = count_text(model_.ranks, "rank");
        if (model_.network == network_kind::mesh) {
            text += fmt::format(", one on each core of a mesh of {} x {}, row by row",
                                model_.mesh.rows, model_.mesh.columns);
        } else if (model_.network == network_kind::bus) {
            text += fmt::format(", the first on the host and {} on boards", model_.ranks - 1);
        } else if (model_.network == network_kind::torus) {
            text += fmt::format(" on a {} of {} {}", model_.torus.wraps_around ? "torus" : "grid",
                                fmt::join(model_.torus.sides, " x "),
                                model_.nodes == 1 ? "node" : "nodes");
        }
        if (model_.node) {
            text += fmt::format(
                "; each node has {} of {} with {}, and runs {} of {}",
                count_text(model_.node->sockets, "socket"), count_text(model_.node->cores, "core"),
                count_text(model_.node->threads, "hardware thread"),
                count_text(model_.processes_per_node, "process"),
                count_text(std::min(model_.threads_per_process, model_.ranks), "rank"));
        }
        text += '.';
        if (model_.memory_bytes != 0) {
            text +=
                fmt::format(" Each rank has {} of memory.", base::bytes_text(model_.memory_bytes));
        }
        return text;
    }

    std::string clock() const {
        const std::string fraction =
            model_.tick.denominator == 1
                ? ""
                : fmt::format(" ({}/{} ps)", model_.tick.numerator_ps, model_.tick.denominator);
        return fmt::format("virtual, in whole ticks of {}{}.", of(ticks{1}), fraction);
    }

    std::string processor(const processor_costs& costs) const {
        return fmt::format(
            "a floating-point operation takes {}, an integer operation {}, a load {}, a store {}, "
            "a copied byte {}. An atomic of a rank on its own memory takes {}; looking at the "
            "clock or at a signal again, {}.",
            of(costs.flop), of(costs.int_op), of(costs.load), of(costs.store),
            of(costs.copied_byte), of(costs.call), of(costs.poll));
    }

    std::string node() const {
        const node_model& node = *model_.node;
        std::string text = fmt::format(
            "a cache line of {} bytes takes {} from a core's own cache, {} from another thread of "
            "the core, {} from a core that shares a cache with it (as {} do), {} from any other "
            "core, {} from memory. An atomic takes {} more. One line goes to one core after "
            "another, {} apart. A core copies {}; all cores of a socket read memory {}.",
            node.line_bytes, of(node.hit), of(node.same_core), of(node.near), node.cores_per_cache,
            of(node.far), of(node.from_memory), of(node.atomic), of(node.line_service),
            speed(node.core_per_byte), speed(node.memory_per_byte));
        if (node.fpus < node.threads) {
            text += fmt::format(" The {} threads of a core share {}.", node.threads,
                                count_text(node.fpus, "floating-point unit"));
        }
        return text;
    }

    std::string network() const {
        switch (model_.network) {
            case network_kind::crossbar: return crossbar();
            case network_kind::mesh: return mesh();
            case network_kind::torus:
                return fmt::format(
                    "a message takes {} and {} for each hop; a link carries it {}, "
                    "one message after another. {} lie between two messages of a node.",
                    of(model_.torus.entry), of(model_.torus.hop), speed(model_.torus.per_byte),
                    of(model_.torus.gap));
            case network_kind::bus: return bus();
            case network_kind::none: break;
        }
        return {};
    }

    std::string crossbar() const {
        const crossbar_model& crossbar = model_.crossbar;
        std::string text = fmt::format(
            "every pair is alike. A message arrives {} after it was sent; {} lie between two "
            "messages of a port, which sends {}.",
            of(crossbar.latency), of(crossbar.gap), speed(crossbar.per_byte));
        if (crossbar.packet_bytes != 0) {
            text += fmt::format(
                " Messages are cut into packets of {}; each after the first takes "
                "a port {}.",
                base::bytes_text(crossbar.packet_bytes), of(crossbar.packet_gap));
        }
        return text;
    }

    std::string mesh() const {
        const mesh_model& mesh = model_.mesh;
        std::string text = fmt::format(
            "messages go along their row, then along their column{}. A store takes {} and {} for "
            "each hop; a link moves one transaction of at most {} bytes in {}, and {} may wait for "
            "it. A load of a word takes {} and {} for each hop. The copy loop stores {} bytes at a "
            "time: {} before the first, {} for each of the {} that are written out, {} for each of "
            "the rest. DMA takes {}, then {} for each byte.",
            mesh.wraps_around ? ", which are rings" : "", of(mesh.entry), of(mesh.hop),
            mesh.transaction_bytes, of(mesh.slot), mesh.queue_slots, of(mesh.read_entry),
            of(mesh.read_hop), mesh.store_bytes, of(mesh.loop_entry), of(mesh.unrolled_store),
            mesh.loop_unroll, of(mesh.remainder_store), of(mesh.dma_setup), of(mesh.dma_per_byte));
        if (mesh.granularity == mesh_granularity::messages) {
            text +=
                " Links take whole messages, one after another, and beyond a message's own "
                "router any number may wait.";
        }
        return text;
    }

    std::string bus() const {
        const bus_model& bus = model_.bus;
        const std::string text = fmt::format(
            "one bus, on which the host carries every transfer{}. A transfer takes {}; the host "
            "writes {} and reads {}{}. {}{}{}",
            bus.has_dma ? " by DMA" : " itself", of(bus.setup), speed(bus.write_per_byte),
            speed(bus.read_per_byte),
            bus.burst == 1 ? "" : fmt::format(", and {:.3g} times as fast in bursts", bus.burst),
            bus.has_broadcast ? "One transfer can go to several boards. "
                              : "A transfer goes to one board. ",
            bus.boards_are_masters ? "Boards write to each other without the host. " : "",
            bus.idle_boards_only ? "A board that computes must not be disturbed."
                                 : "Boards compute meanwhile.");
        return text + boxes();
    }

    std::string boxes() const {
        const bus_model& bus = model_.bus;
        if (bus.boards_per_expander == 0) return {};
        const std::string when =
            bus.slots == 0
                ? "Boards sit"
                : fmt::format("Where {} of the host {} too few, boards sit",
                              count_text(bus.slots, "slot"), bus.slots == 1 ? "is" : "are");
        return fmt::format(
            " {} in boxes of {}, through which a transfer takes {} more, and {} more for each "
            "byte.",
            when, bus.boards_per_expander, of(bus.expander), of(bus.expander_per_byte));
    }

    void example(std::string_view what, std::uint64_t bytes, std::uint32_t to,
                 journey (*journey_of)(const machine_model&, const route&)) {
        const journey way = journey_of(model_, {.from = 0, .to = to, .bytes = bytes});
        const bool has_hops =
            model_.network == network_kind::mesh || model_.network == network_kind::torus;
        say("  {} from rank 0 to rank {}{}: {}", what, to,
            has_hops ? fmt::format(" ({})", count_text(hops(model_, 0, to), "hop")) : "",
            of(way.total()));
        const std::array<std::pair<std::string_view, ticks>, 5> parts{
            {{"its call", way.origin},
             {"on the way", way.there},
             {"at the target", way.target},
             {"on the way back", way.back},
             {"for the answer", way.reply}}};
        std::vector<std::string> texts;
        for (const auto& [name, amount] : parts) {
            if (amount != 0) texts.push_back(fmt::format("{} {}", of(amount), name));
        }
        if (texts.size() > 1) say(" = {}", fmt::join(texts, " + "));
        say("\n");
    }

    void operations() {
        const std::string_view title = model_.node ? "Operations between processes" : "Operations";
        if (model_.node && model_.ranks_per_process() >= model_.ranks) {
            paragraph(title,
                      "all ranks are of one process: their operations are accesses to cache "
                      "lines. `processes=` makes more, between which messages go.");
            return;
        }
        paragraph(title, "with nothing else under way:");
        examples();
    }

    void examples() {
        // The nearest rank that messages go to, and the farthest.
        const std::uint32_t near = std::min(model_.ranks_per_process(), model_.ranks - 1);
        if (near == 0) return;
        const std::uint32_t far = farthest();
        example("a put of 8 bytes", 8, near, put_journey);
        if (far != near) example("a put of 8 bytes", 8, far, put_journey);
        example("a put of 4096 bytes", 4096, near, put_journey);
        example("a get of 8 bytes", 8, near, get_journey);
        example("a get of 4096 bytes", 4096, near, get_journey);
        example("an atomic that fetches", 8, near, atomic_journey);
        example("a signal", 0, near, signal_journey);
    }

    std::uint32_t farthest() const {
        std::uint32_t best = std::min(model_.ranks_per_process(), model_.ranks - 1);
        for (std::uint32_t rank = best; rank < model_.ranks; ++rank) {
            if (hops(model_, 0, rank) > hops(model_, 0, best)) best = rank;
        }
        return best;
    }

    std::string reception() const {
        const reception_model& how = model_.reception;
        std::string text;
        switch (how.kind) {
            case reception_kind::hardware:
                text = "puts and gets need no processor at their target.";
                break;
            case reception_kind::polling:
                text = "the target's processor handles them, in its calls and while it waits.";
                break;
            case reception_kind::interrupt:
                text = fmt::format(
                    "the target's processor handles them at once; where it computes "
                    "it is interrupted, which takes {}.",
                    of(how.interrupt));
        }
        if (how.dispatch != 0) {
            text +=
                fmt::format(" The dispatcher takes {} each time that it is entered{}.",
                            of(how.dispatch), how.enters_always ? ", which every call does" : "");
        }
        if (how.kind == reception_kind::polling && how.retransmission != 0) {
            text +=
                fmt::format(" Without calls there is progress every {}.", of(how.retransmission));
        }
        if (how.has_big_lock) text += " One lock keeps calls and interrupts apart.";
        if (how.has_big_lock && how.contention != 0) {
            text +=
                fmt::format(" A call that holds it while an interrupt wants it takes {} longer.",
                            of(how.contention));
        }
        text += model_.acknowledges_puts ? " Puts are acknowledged."
                                         : " A put is complete when it has arrived.";
        return text;
    }

    std::string options() const {
        std::vector<std::string> texts;
        for (const option_note& each : model_.options) {
            texts.push_back(each.choices.empty()
                                ? fmt::format("{}= ({})", each.key, each.target)
                                : fmt::format("{}={} ({})", each.key, fmt::join(each.choices, "|"),
                                              each.value));
        }
        return fmt::format("{}; and every key below.", fmt::join(texts, ", "));
    }

    void constants() {
        std::size_t widest = 0;
        for (const constant_note& each : model_.constants) {
            widest = std::max(widest, each.key.size());
        }
        say("\nConstants, and where they come from:\n");
        for (const constant_note& each : model_.constants) {
            const std::string value =
                each.unit.empty() ? each.value : fmt::format("{} {}", each.value, each.unit);
            say("  {:<{}}  {:>18}  {}\n", each.key, widest, value, each.source);
        }
    }

    const machine_model& model_;
    std::string out_;
};

}  // namespace

std::string explain(const machine_model& model) { return explainer(model).text(); }

}  // namespace selion::machine::sim
