// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace selion::machine::fabric {

/// What all ranks of a job have to do alike; rank 0 decides.
struct job_terms {
    std::uint64_t secret = 0;
    std::uint64_t reserve_bytes = 0;  ///< of the heap
    std::uint64_t message_bytes = 0;
    std::uint32_t processors = 0;  ///< of all hosts together, as far as rank 0 knows
    std::uint32_t have_cores = 0;
    std::uint32_t thread_level = 0;
    std::uint32_t joined_threads = 0;
    std::uint32_t is_renumbered = 0;   ///< ranks are numbered host by host, not as launched
    std::uint32_t reports_deaths = 0;  ///< they do not end the job
    std::uint32_t compares_calls = 0;  ///< of ranks in each collective
};

/// What a process tells the others of its host about memory that they could share.
struct share_offer {
    std::uint64_t view = 0;  ///< processes that see each other have it in common; 0: no offer
    std::uint64_t device = 0;
    std::uint64_t inode = 0;           ///< of a memory file …
    std::uint64_t processes_seen = 0;  ///< in common with those whose processes it sees; 0: none
    std::int32_t process = 0;
    std::int32_t file = -1;  ///< … and its descriptor there
    std::uint32_t part_of_host = 0;
    std::uint32_t has_barriers = 0;  ///< sleepers of the process may rely on heavy fences

    bool meets(const share_offer& other) const {
        return view != 0 && view == other.view && part_of_host == other.part_of_host;
    }
};

/// How others reach a rank.
struct rank_contact {
    std::vector<std::byte> address;  ///< of its endpoint
    std::uint64_t key = 0;  ///< by which the provider lets others at the heap; 0: it does not
};

/// A library whose functions messages may name, or a module of the script.
struct library_card {
    std::uint64_t tag = 0;   ///< by which messages know it; of a module: of its name
    std::uint64_t code = 0;  ///< fingerprint
    std::string path = {};   ///< in the own process, or the module's name; does not travel
    bool is_module = false;  ///< does not travel either
};

/// What a process tells the others before anything is sent.
struct process_card {
    job_terms terms;
    share_offer share;
    std::uint64_t program = 0;  ///< fingerprint of the program's code
    std::uint64_t script = 0;   ///< of the script that it runs; 0: of none that is known
    std::string version;        ///< of the library
    std::string spec;
    std::string provider;
    std::string host;
    std::vector<std::byte> pulses;  ///< address of its `pulse_socket`; empty: it has none
    std::vector<library_card> libraries;
    std::vector<rank_contact> ranks;  ///< of the process, in order; their addresses are as long
};

/// Of the code of the running program, wherever it is mapped. @cost reads all of it once
std::uint64_t program_fingerprint();
/// Of the libraries that are loaded now, and of what the script has noted. @cost reads all code of
/// the libraries once
std::vector<library_card> library_cards();
/// From the kernel; never 0. @error system_failure (thrown)
std::uint64_t draw_secret();

std::vector<std::byte> encode(const process_card& card);
/// @return nothing if it is no card.
std::optional<process_card> decode_card(std::span<const std::byte> bytes);

/// What keeps two processes from being of one job: "runs version 0.2.0, not 0.1.0"; empty: nothing.
std::string difference(const process_card& own, const process_card& other);

}  // namespace selion::machine::fabric
