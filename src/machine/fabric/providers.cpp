// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/providers.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "machine/fabric/completion_queue.hpp"
#include "machine/fabric/kept_signals.hpp"
#include "selion/machines.hpp"

namespace selion::machine::fabric {
namespace {

/// Networks first, and of what runs over sockets the one that copies least. What is missing here is
/// taken only by name.
constexpr std::array<std::string_view, 10> ranking{"efa",     "verbs;ofi_rxm", "cxi", "psm3",
                                                   "psm2",    "tcp",           "net", "tcp;ofi_rxm",
                                                   "sockets", "udp;ofi_rxd"};

std::size_t place_in_ranking(std::string_view provider) {
    return static_cast<std::size_t>(std::ranges::find(ranking, provider) - ranking.begin());
}

bool is_loopback(const fi_info& info) {
    if (info.src_addr == nullptr) return interface_name(info) == "lo";
    const auto* const any = static_cast<const sockaddr*>(info.src_addr);
    if (any->sa_family == AF_INET) {
        const auto* const own = static_cast<const sockaddr_in*>(info.src_addr);
        return ntohl(own->sin_addr.s_addr) >> 24 == 127;
    }
    if (any->sa_family == AF_INET6) {
        const auto* const own = static_cast<const sockaddr_in6*>(info.src_addr);
        return IN6_IS_ADDR_LOOPBACK(&own->sin6_addr);
    }
    return interface_name(info) == "lo";
}

/// Whether what it sends stays within the host. Providers need not say that they reach others, and
/// those that are tried unasked do.
bool is_within_host(const fi_info& info) {
    const bool is_known = place_in_ranking(provider_name(info)) != ranking.size();
    const std::uint64_t told = info.caps | info.domain_attr->caps;
    return is_loopback(info) || (!is_known && (told & FI_REMOTE_COMM) == 0);
}

/// Its other end needs a scope that cards do not carry.
bool is_link_local(const fi_info& info) {
    if (info.addr_format != FI_SOCKADDR_IN6 || info.src_addr == nullptr) return false;
    const auto* const own = static_cast<const sockaddr_in6*>(info.src_addr);
    return IN6_IS_ADDR_LINKLOCAL(&own->sin6_addr);
}

/// Between two ranks these have one stream, so that all of it comes in the order of the calls.
constexpr std::array<std::string_view, 4> over_streams{"tcp", "net", "tcp;ofi_rxm", "net;ofi_rxm"};

bool has_stream(std::string_view provider) {
    return std::ranges::find(over_streams, provider) != over_streams.end();
}

/// What FI_PROVIDER, which is libfabric's own, has to do with it; empty: it is not set.
std::string filter_text() {
    const char* const filter = std::getenv("FI_PROVIDER");
    if (filter == nullptr) return {};
    return fmt::format("; FI_PROVIDER=\"{}\" is set, by which libfabric leaves some out: unset it",
                       filter);
}

/// What the machine asks of an endpoint.
/// @param more capabilities.
info_list hints(std::uint64_t more) {
    info_list wanted(libfabric().dupinfo(nullptr));
    wanted->caps = FI_MSG | FI_SEND | FI_RECV | more;
    wanted->mode = FI_CONTEXT | FI_CONTEXT2;
    wanted->ep_attr->type = FI_EP_RDM;
    wanted->tx_attr->msg_order = FI_ORDER_SAS;
    wanted->rx_attr->msg_order = FI_ORDER_SAS;
    wanted->domain_attr->threading = FI_THREAD_SAFE;
    wanted->domain_attr->resource_mgmt = FI_RM_ENABLED;
    // Whoever waits makes progress; a thread of the provider would only compete with it.
    wanted->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    wanted->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    wanted->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
    wanted->domain_attr->av_type = FI_AV_TABLE;
    return wanted;
}

/// Why an offer is not what is wished for; empty: it is.
std::string mismatch_of(const fi_info& info, const endpoint_wish& wish) {
    const std::string provider = provider_name(info);
    if (wish.provider.empty() ? place_in_ranking(provider) == ranking.size()
                              : provider != wish.provider) {
        return wish.provider.empty() ? "not tried unless SELION_FABRIC_PROVIDER names it"
                                     : "SELION_FABRIC_PROVIDER names another one";
    }
    if (!wish.interface.empty() && interface_name(info) != wish.interface) {
        return "SELION_FABRIC_INTERFACE names another one";
    }
    return {};
}

/// Why an offer would not do, if it were wished for; empty: it does.
std::string defect_of(const fi_info& info, const endpoint_wish& wish) {
    if (is_link_local(info)) return "its address is good for one link only";
    if (!wish.is_on_one_host && is_within_host(info)) return "other hosts do not reach it";
    return {};
}

/// Why an offer is not used; empty: it can be.
std::string refusal_of(const fi_info& info, const endpoint_wish& wish) {
    const std::string mismatch = mismatch_of(info, wish);
    return mismatch.empty() ? defect_of(info, wish) : mismatch;
}

/// Smaller is better.
std::array<std::size_t, 3> cost_of(const fi_info& info, const endpoint_wish& wish) {
    const std::size_t is_apart = is_loopback(info) == wish.is_on_one_host ? 0 : 1;
    const std::size_t is_new = info.addr_format == FI_SOCKADDR_IN6 ? 1 : 0;
    return {place_in_ranking(provider_name(info)), is_apart, is_new};
}

error nothing_found(const fi_info* first, const endpoint_wish& wish) {
    std::set<std::string> offers;
    for (const fi_info* one = first; one != nullptr; one = one->next) {
        const std::string defect =
            mismatch_of(*one, wish).empty() ? fmt::format(" ({})", defect_of(*one, wish)) : "";
        offers.insert(fmt::format("{} on {}{}", provider_name(*one), interface_name(*one), defect));
    }
    const std::string wished =
        fmt::format("{}{}", wish.provider.empty() ? "" : " SELION_FABRIC_PROVIDER=" + wish.provider,
                    wish.interface.empty() ? "" : " SELION_FABRIC_INTERFACE=" + wish.interface);
    return {status::system_failure,
            fmt::format("fabric: libfabric has no usable provider{}{}; there is {}{}; see "
                        "'selion doctor --fabric'",
                        wished.empty() ? "" : " for", wished,
                        offers.empty() ? "none with reliable datagrams in order"
                                       : fmt::format("{}", fmt::join(offers, ", ")),
                        filter_text())};
}

info_list offers_with(std::uint64_t more) {
    const info_list wanted = hints(more);
    fi_info* found = nullptr;
    const kept_signals kept;  // the first question has it load its plugins
    const int code =
        libfabric().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, wanted.get(), &found);
    return info_list(code == 0 ? found : nullptr);
}

/// Those that move memory by themselves first; then all. @pre libfabric is loaded.
info_list list_providers() {
    info_list moving = offers_with(FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
    info_list plain = offers_with(0);
    if (moving == nullptr) return plain;
    fi_info* last = moving.get();
    while (last->next != nullptr) last = last->next;
    last->next = plain.release();
    return moving;
}

/// Those that change words of others by themselves, which the machine does not ask for.
std::set<std::string> providers_with_atomics() {
    const info_list all = offers_with(FI_ATOMIC);
    std::set<std::string> names;
    for (const fi_info* one = all.get(); one != nullptr; one = one->next) {
        names.insert(one->fabric_attr->prov_name);
    }
    return names;
}

/// @return null if there is none.
const fi_info* best_of(const fi_info* first, const endpoint_wish& wish) {
    const fi_info* best = nullptr;
    for (const fi_info* one = first; one != nullptr; one = one->next) {
        if (!refusal_of(*one, wish).empty()) continue;
        if (best == nullptr || cost_of(*one, wish) < cost_of(*best, wish)) best = one;
    }
    return best;
}

}  // namespace

std::string provider_name(const fi_info& info) { return info.fabric_attr->prov_name; }

std::string interface_name(const fi_info& info) {
    return info.domain_attr->name == nullptr ? "?" : info.domain_attr->name;
}

bool moves_in_order(const fi_info& info) {
    const int prepared = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    return has_stream(provider_name(info)) && (info.caps & FI_RMA) != 0 &&
           (info.tx_attr->msg_order & FI_ORDER_SAW) != 0 &&
           (info.domain_attr->mr_mode & prepared) == 0 &&
           info.domain_attr->mr_key_size == sizeof(std::uint64_t);
}

result<chosen_info> choose_provider(const endpoint_wish& wish) {
    const result<const libfabric_calls*> loaded = load_libfabric();
    if (!loaded) return loaded.trouble();
    info_list all = list_providers();
    const fi_info* const best = best_of(all.get(), wish);
    if (best == nullptr) return nothing_found(all.get(), wish);
    return chosen_info{std::move(all), best};
}

/// As seen with libfabric 1.17.
bool withstands_strangers(std::string_view provider) {
    return provider != "sockets" && provider != "udp;ofi_rxd";
}

bool goes_over_tcp(std::string_view provider) {
    return provider == "net" || provider == "sockets" || provider.starts_with("tcp");
}

endpoint_wish wish_of_knobs() {
    return {.provider = base::knob_text(base::knob::fabric_provider).value_or(""),
            .interface = base::knob_text(base::knob::fabric_interface).value_or("")};
}

}  // namespace selion::machine::fabric

namespace selion {

std::vector<fabric_offer> fabric_offers() {
    using namespace machine::fabric;
    if (const result<const libfabric_calls*> loaded = load_libfabric(); !loaded) {
        throw loaded.trouble();
    }
    const endpoint_wish wish = wish_of_knobs();
    const info_list all = list_providers();
    const fi_info* const best = best_of(all.get(), wish);
    const std::set<std::string> with_atomics = providers_with_atomics();
    std::vector<fabric_offer> offers;
    for (const fi_info* one = all.get(); one != nullptr; one = one->next) {
        const char* const network = one->fabric_attr->name;
        const fabric_offer offer{.provider = provider_name(*one),
                                 .interface = interface_name(*one),
                                 .network = network == nullptr ? "" : network,
                                 .is_chosen = one == best,
                                 .why_not = refusal_of(*one, wish),
                                 .has_stream = has_stream(provider_name(*one)),
                                 .has_moves = (one->caps & FI_RMA) != 0,
                                 .has_atomics = with_atomics.contains(provider_name(*one)),
                                 .is_moving = moves_in_order(*one),
                                 .has_wait_file = has_wait_file(*one)};
        const auto is_same = [&](const fabric_offer& other) {
            return other.provider == offer.provider && other.interface == offer.interface &&
                   other.network == offer.network;
        };
        const auto known = std::ranges::find_if(offers, is_same);
        if (known == offers.end()) {
            offers.push_back(offer);
        } else if (offer.is_chosen) {
            *known = offer;
        }
    }
    return offers;
}

std::vector<std::string> fabric_ranking() {
    return {machine::fabric::ranking.begin(), machine::fabric::ranking.end()};
}

}  // namespace selion
