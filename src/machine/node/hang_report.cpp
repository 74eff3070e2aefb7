// SPDX-License-Identifier: Apache-2.0
#include "machine/node/hang_report.hpp"

#include "machine/wait_report.hpp"

namespace selion::machine::node {
namespace {

class job_of_mapping final : public observed_job {
public:
    job_of_mapping(const shared_mapping& mapping, bool compares_calls)
        : mapping_(mapping), compares_calls_(compares_calls) {}

    std::uint32_t ranks() const override { return mapping_.control().ranks; }
    const call_record& record(std::uint32_t rank) const override { return mapping_.record(rank); }
    const call_record* record_beside(std::uint32_t rank) const override {
        return mapping_.record_beside(rank);
    }
    std::span<const std::byte> memory(std::uint32_t rank) const override {
        return {mapping_.slice(rank), mapping_.control().reserve_bytes};
    }
    bool compares_calls() const override { return compares_calls_; }

private:
    const shared_mapping& mapping_;
    bool compares_calls_;
};

}  // namespace

std::string explain_waits(const shared_mapping& mapping, bool compares_calls) {
    return selion::machine::explain_waits(job_of_mapping(mapping, compares_calls));
}

hang_watch::hang_watch(const shared_mapping& mapping, std::int64_t timeout_ns)
    : mapping_(mapping), timeout_ns_(timeout_ns), seen_(mapping.control().ranks) {}

bool hang_watch::sample(std::int64_t now_ns) {
    if (timeout_ns_ == 0) return false;
    now_ns = time_.at(now_ns);
    bool is_news = false;
    for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) {
        const call_record& record = mapping_.record(rank);
        const std::uint64_t entries = look_at(record.entries);
        observation& seen = seen_[rank];
        const bool is_waiting = entries % 2 == 1 && look_at(record.is_waiting) != 0;
        if (entries != seen.entries || !is_waiting || seen.since_ns == 0) {
            seen = {entries, now_ns, false};
        } else if (!seen.was_reported && now_ns - seen.since_ns >= timeout_ns_) {
            is_news = true;
        }
    }
    if (is_news) {
        for (observation& seen : seen_) seen.was_reported = true;
    }
    return is_news;
}

}  // namespace selion::machine::node
