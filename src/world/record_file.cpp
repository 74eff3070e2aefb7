// SPDX-License-Identifier: Apache-2.0
#include "world/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "meters/record/trace_text.hpp"
#include "selion/error.hpp"
#include "world/locked_file.hpp"
#include "world/named_file.hpp"
#include "world/record_cost.hpp"

namespace selion::detail {
namespace {

/// Events of one rank, and of all ranks of a process, that are in memory at a time. What an early
/// end writes must be written before the patience of whoever ends the job is over.
constexpr std::uint64_t most_events_of_rank = 10'000;
constexpr std::uint64_t most_events_of_process = 100'000;
constexpr std::uint64_t fewest_events = 16;
/// Events of one rank, and of a job, that a trace takes: more is more than viewers can show.
constexpr std::uint64_t most_traced_of_rank = 1'000'000;
constexpr std::uint64_t most_traced = 20'000'000;
constexpr int most_links = 40;  // one after another, as the kernel follows them

/// At its end, all or nothing: half a line would keep readers from all others.
bool append_to(const std::string& path, int flags, std::string_view text) {
    // O_APPEND, as not every file system knows locks.
    const locked_file file(path, O_CREAT | O_APPEND | flags);
    return file.is_open() && file.append(text);
}

/// The second of two jobs at a time would begin the file anew, and both would write on.
void expect_claim(claimed_file& file, const std::string& path, base::knob which) {
    if (file.claim(path)) return;
    throw error(status::bad_argument,
                fmt::format("{}={}: another job writes this file now; legal is a file for each job",
                            base::knob_table()[static_cast<std::size_t>(which)].name, path));
}

/// Where a file would be made under this name: also a link may lead to one that is not there yet.
std::filesystem::path place_of(std::filesystem::path path) {
    std::error_code trouble;
    for (int link = 0; link < most_links && std::filesystem::is_symlink(path, trouble); ++link) {
        path = path.parent_path() / std::filesystem::read_symlink(path, trouble);
    }
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, trouble);
    return trouble ? path.lexically_normal() : whole;
}

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code trouble;  // of one that is not there
    return std::filesystem::equivalent(one, other, trouble) || place_of(one) == place_of(other);
}

/// Whether a later job would write `other` because an earlier one has been told to write `name`.
bool is_name_of_later(const std::filesystem::path& name, const std::filesystem::path& other) {
    const std::string begin = name.stem().string() + ".";
    const std::string end = name.extension().string();
    const std::string whole = other.filename().string();
    if (whole.size() <= begin.size() + end.size()) return false;
    if (!whole.starts_with(begin) || !whole.ends_with(end)) return false;
    const std::string_view number =
        std::string_view(whole).substr(begin.size(), whole.size() - begin.size() - end.size());
    return number[0] != '0' && number != "1" &&
           number.find_first_not_of("0123456789") == number.npos &&
           place_of(name.parent_path()) == place_of(other.parent_path());
}

void expect_apart(const std::string& meters, const std::string& trace) {
    if (!is_name_of_later(meters, trace) && !is_name_of_later(trace, meters)) return;
    throw error(status::bad_argument,
                fmt::format("SELION_METERS and SELION_TRACE name {} and {}: a later job of the "
                            "program would write one of them as its other file; legal are names of "
                            "which none is the other with a number",
                            meters, trace));
}

/// A device takes anything from anybody; of a file one of them would be lost.
void expect_two_files(const std::string& meters, const std::string& trace) {
    expect_apart(meters, trace);
    std::error_code trouble;
    if (!is_same_file(meters, trace) || std::filesystem::is_other(meters, trouble)) return;
    throw error(status::bad_argument,
                fmt::format("SELION_METERS and SELION_TRACE both name the file {}; legal are two "
                            "files",
                            trace));
}

meters::trace_buffer::limits limits_of(const machine_description& description) {
    const std::uint64_t in_process =
        std::max<std::uint64_t>(description.ranks / std::max(description.processes, 1u), 1);
    return {.events_at_once = static_cast<std::size_t>(std::clamp(
                most_events_of_process / in_process, fewest_events, most_events_of_rank)),
            .events = std::clamp(most_traced / std::max(description.ranks, 1u), fewest_events,
                                 most_traced_of_rank)};
}

}  // namespace

record_files::record_files(const machine_description& description, const job_files& named)
    : meters_path_(named.of(base::knob::meters)),
      records_(base::knob_is_on(base::knob::trace) || base::knob_is_on(base::knob::meters)),
      most_(limits_of(description)) {
    expect_no_pipe(meters_path_, base::knob::meters);
    expect_no_output_file(meters_path_, base::knob::meters);
    if (std::string path = named.of(base::knob::trace); !path.empty()) {
        expect_no_pipe(path, base::knob::trace);
        expect_no_output_file(path, base::knob::trace);
        if (!meters_path_.empty()) expect_two_files(meters_path_, path);
        trace_.emplace(std::move(path));
        last_words_.emplace([this] { write_last(); });
    }
    if (!records_) return;
    recorders_.resize(description.ranks);
    published_.resize(description.ranks);
}

void record_files::begin(const machine_description& description) {
    meters::job_description job{.machine = description.spec,
                                .version = version(),
                                .ranks = description.ranks,
                                .is_virtual = !description.capabilities.real_time};
    if (trace_) {
        expect_claim(claimed_trace_, trace_->path(), base::knob::trace);
        if (!job.is_virtual) job.event_cost_ps = measure_event_cost_ps();
        if (!trace_->begin(meters::trace_head(job))) {
            refuse_file(trace_->path(), base::knob::trace);
        }
    }
    if (meters_path_.empty()) return;
    expect_claim(claimed_meters_, meters_path_, base::knob::meters);
    if (!append_to(meters_path_, O_TRUNC, meters::meters_head(job))) {
        refuse_file(meters_path_, base::knob::meters);
    }
}

meters::recorder* record_files::start_rank(std::uint32_t rank) {
    if (!records_) return nullptr;
    std::unique_ptr<meters::trace_buffer> events;
    if (trace_) {
        events = std::make_unique<meters::trace_buffer>(rank, most_, *trace_);
        last_words_->arm();  // here, because a process without ranks has other things to do
    }
    recorders_[rank] = std::make_unique<meters::recorder>(std::move(events));
    // release: the recorder is complete; pairs with [record.published]
    std::atomic_ref(published_[rank]).store(recorders_[rank].get(), std::memory_order_release);
    return recorders_[rank].get();
}

void record_files::end_rank(std::uint32_t rank) {
    if (!records_) return;
    meters::recorder& own = *recorders_[rank];
    append_meters(own.reading_lines(rank));
    if (!own.has_trace()) return;
    own.trace().write_end();
    if (own.trace().dropped() != 0 && !own.trace().is_refused()) {
        base::say(
            fmt::format("rank {}: the trace takes {} events; {} more were counted but not "
                        "kept",
                        rank, most_.events, own.trace().dropped()));
    }
}

void record_files::end(const machine::machine& host) {
    last_words_.reset();
    for (const auto& own : recorders_) {
        if (own != nullptr && own->has_trace()) own->trace().write();
    }
    if (!records_) return;
    const meters::network_use network = host.network_use();
    append_meters(meters::link_lines(network));
    if (!trace_) return;
    if (!network.links.empty()) trace_->write(meters::link_events(network));
    trace_->end();
}

/// Of the ranks that have begun; others may be about to.
void record_files::write_last() {
    for (meters::recorder*& published : published_) {
        // acquire: pairs with [record.published]
        meters::recorder* const own = std::atomic_ref(published).load(std::memory_order_acquire);
        if (own != nullptr) own->trace().write_last();
    }
}

/// What is lost is told once by each process.
void record_files::append_meters(const std::string& lines) {
    if (meters_path_.empty() || lines.empty() || append_to(meters_path_, 0, lines)) return;
    const int trouble = errno;
    // relaxed: it guards nothing
    if (has_told_loss_.exchange(true, std::memory_order_relaxed)) return;
    base::say(fmt::format("warning: meters of ranks are lost: cannot write {} ({})", meters_path_,
                          std::strerror(trouble)));
}

}  // namespace selion::detail
