// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "machine/fabric/kept_signals.hpp"

namespace selion::machine::fabric {
namespace {

constexpr const char* libfabric_name = "libfabric.so.1";
constexpr const char* pmix_name = "libpmix.so.2";

/// A library and what was missing of it.
class library {
public:
    /// @param is_global plugins that it loads look for its symbols.
    library(const char* name, bool is_global)
        : handle_(dlopen(name, RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL))) {
        if (handle_ == nullptr) trouble_ = dlerror();
    }
    template <class Function>
    void find(Function& function, const char* symbol) {
        if (handle_ == nullptr) return;
        function = reinterpret_cast<Function>(dlsym(handle_, symbol));
        if (function == nullptr) trouble_ = fmt::format("it lacks {}", symbol);
    }
    const std::string& trouble() const { return trouble_; }

private:
    void* handle_;  // stays: the library has threads and handlers of its own
    std::string trouble_;
};

error cannot_load(const char* name, const std::string& why, const char* package) {
    return {status::system_failure,
            fmt::format("fabric: cannot load {} ({}); install it on every host (Debian: {})", name,
                        why, package)};
}

/// Provider `udp;ofi_rxd` has 128 packets on their way to a peer unless it is told otherwise, and
/// the kernel drops what is more than some 90 at a receiver (`net.core.rmem_default`, 208 KiB); of
/// what is dropped it sends nearly all again, but loses a message of some ten thousand (libfabric
/// 1.17). Eight of each peer leave room for eleven peers at once, and are as quick. A receiver that
/// stands still is sent the same ones again, after 1, 2, 4, … ms, until its buffer overflows with
/// repetitions; of the first ones it has all.
void bound_packets_under_way() { setenv("FI_OFI_RXD_MAX_UNACKED", "8", /*overwrite=*/0); }

struct loaded_libfabric {
    libfabric_calls calls{};
    std::string trouble;
    loaded_libfabric() {
        const kept_signals kept;
        bound_packets_under_way();
        library found(libfabric_name, false);
        found.find(calls.getinfo, "fi_getinfo");
        found.find(calls.freeinfo, "fi_freeinfo");
        found.find(calls.dupinfo, "fi_dupinfo");
        found.find(calls.fabric, "fi_fabric");
        found.find(calls.strerror, "fi_strerror");
        trouble = found.trouble();
    }
};
const loaded_libfabric& the_libfabric() {
    static const loaded_libfabric loaded;
    return loaded;
}

struct loaded_pmix {
    pmix_calls calls{};
    std::string trouble;
    loaded_pmix() {
        library found(pmix_name, true);
        found.find(calls.init, "PMIx_Init");
        found.find(calls.finalize, "PMIx_Finalize");
        found.find(calls.put, "PMIx_Put");
        found.find(calls.commit, "PMIx_Commit");
        found.find(calls.fence, "PMIx_Fence_nb");
        found.find(calls.get, "PMIx_Get");
        found.find(calls.get_later, "PMIx_Get_nb");
        found.find(calls.abort, "PMIx_Abort");
        found.find(calls.value_destruct, "PMIx_Value_destruct");
        found.find(calls.error_string, "PMIx_Error_string");
        found.find(calls.register_event_handler, "PMIx_Register_event_handler");
        trouble = found.trouble();
    }
};
const loaded_pmix& the_pmix() {
    static const loaded_pmix loaded;
    return loaded;
}

}  // namespace

result<const libfabric_calls*> load_libfabric() {
    const loaded_libfabric& loaded = the_libfabric();
    if (loaded.trouble.empty()) return &loaded.calls;
    return cannot_load(libfabric_name, loaded.trouble, "libfabric1");
}
const libfabric_calls& libfabric() { return the_libfabric().calls; }

result<const pmix_calls*> load_pmix() {
    const loaded_pmix& loaded = the_pmix();
    if (loaded.trouble.empty()) return &loaded.calls;
    return cannot_load(pmix_name, loaded.trouble, "libpmix2");
}
const pmix_calls& pmix() { return the_pmix().calls; }

}  // namespace selion::machine::fabric
