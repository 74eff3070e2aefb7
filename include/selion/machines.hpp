// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/detail/export.hpp>

namespace selion {

/// Who sees to messages that come for a rank. Puts, gets and atomics between ranks of one host need
/// nobody.
enum class progress_kind {
    polling,    ///< the rank itself, inside calls that wait or make progress
    interrupt,  ///< also a thread that sleeps until something comes
    hardware,   ///< nobody has to
};

/// What a machine can do, as data.
struct machine_capabilities {
    bool shares_memory = false;          ///< every rank can load and store every rank's memory
    bool isolates_ranks = false;         ///< a rank's private memory is safe from others; libraries
                                         ///< that are not thread-safe may be used
    bool real_time = true;               ///< false: time is virtual
    bool moves_idle_ranks_only = false;  ///< nothing is moved to or from a rank that computes
    bool detects_death = false;          ///< a rank that dies is noticed and named
    progress_kind progress = progress_kind::polling;
    std::uint32_t max_ranks = 0;
};

/// The machine of a running job.
struct machine_description {
    std::string spec;  ///< complete, as it would be given to SELION_MACHINE: "threads:64@2"
    std::string kind;  ///< "threads", "processes"
    std::uint32_t ranks = 0;
    std::uint32_t processes = 0;
    std::uint32_t carriers = 0;      ///< operating-system threads that run ranks, of all processes
    std::uint32_t mesh_columns = 0;  ///< ranks in a row, where they are on a mesh; else 0
    machine_capabilities capabilities;
    std::string network = {};  ///< what joins hosts: a provider of libfabric; empty: nothing
};

/// A kind of machine that `SELION_MACHINE` can name.
struct machine_kind_info {
    std::string name;
    std::vector<std::string> forms;  ///< legal specs, for example "threads:N@C"
    std::string summary;             ///< one sentence
    std::vector<std::pair<std::string, std::string>> facts;  ///< capability and value, in words
    bool available = false;
    std::string reason;  ///< why it is not available; empty when it is
};

/// All machines that this build knows.
SELION_API std::vector<machine_kind_info> machine_kinds();

/// A network that the machine `fabric` could use on this host.
struct fabric_offer {
    std::string provider;        ///< of libfabric: "tcp;ofi_rxm"
    std::string interface;       ///< "eth0"
    std::string network;         ///< as the provider names it: "192.0.2.0/24"
    bool is_chosen = false;      ///< for jobs on several hosts, under the variables that are set
    std::string why_not;         ///< why it never would be; empty: it could
    bool has_stream = false;     ///< one between two ranks, so that all comes in order
    bool has_moves = false;      ///< it reads and writes memory of others by itself
    bool has_atomics = false;    ///< it changes words of others by itself
    bool is_moving = false;      ///< long transfers of Selion would be moves
    bool has_wait_file = false;  ///< it wakes ranks that sleep; else they look every millisecond
};

/// All that libfabric offers, in its order, each once.
/// @error system_failure (thrown): libfabric cannot be loaded, or this build leaves fabric out.
SELION_API std::vector<fabric_offer> fabric_offers();
/// Providers of libfabric that are taken where they are there, the first one first.
SELION_API std::vector<std::string> fabric_ranking();

/// A simulated machine that comes with the library: `sim:NAME`.
struct simulated_machine_info {
    std::string name;
    std::string summary;      ///< one line
    std::uint32_t ranks = 0;  ///< without options
    std::vector<std::string>
        options;  ///< short keys that a spec can set: "rows", "mode=vn|dual|smp"
};

/// All of them, by name.
SELION_API std::vector<simulated_machine_info> simulated_machines();

/// What a simulated machine is, in words: its shape, what operations take, and every constant with
/// its source.
/// @param machine its name, a path to a machine file, or a whole spec "sim:NAME,key=value".
/// @error bad_argument (thrown): there is no such machine or option, or the file is malformed.
SELION_API std::string explain_machine(std::string_view machine);

/// A `SELION_*` variable.
struct knob_info {
    std::string name;
    std::string default_value;
    std::string help;     ///< one line with unit and range
    std::string current;  ///< value in the environment; empty when not set
};

/// All variables that Selion reads, sorted by name.
SELION_API std::vector<knob_info> knobs();

/// What a job says that does not start because the value of a variable makes no sense.
/// @return a sentence on the first such variable; empty where all values are legal.
SELION_API std::string knob_trouble();

/// Processors that this process may use: affinity and cgroup quota respected. At least 1.
SELION_API std::uint32_t usable_cores();

/// Version of the library, "major.minor.patch".
SELION_API const char* version();

}  // namespace selion
