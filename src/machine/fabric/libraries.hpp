// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pmix.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "selion/error.hpp"

/// libfabric and PMIx, loaded when a job on many hosts begins: a program that runs elsewhere
/// neither needs them nor pays for the dozen libraries that they bring.
namespace selion::machine::fabric {

/// The functions of libfabric that are symbols; all others go through its objects.
struct libfabric_calls {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
};
/// @error system_failure with what to install.
result<const libfabric_calls*> load_libfabric();
/// @pre `load_libfabric` has succeeded.
const libfabric_calls& libfabric();

struct pmix_calls {
    decltype(&::PMIx_Init) init;
    decltype(&::PMIx_Finalize) finalize;
    decltype(&::PMIx_Put) put;
    decltype(&::PMIx_Commit) commit;
    decltype(&::PMIx_Fence_nb) fence;
    decltype(&::PMIx_Get) get;
    decltype(&::PMIx_Get_nb) get_later;
    decltype(&::PMIx_Abort) abort;
    decltype(&::PMIx_Value_destruct) value_destruct;
    decltype(&::PMIx_Error_string) error_string;
    decltype(&::PMIx_Register_event_handler) register_event_handler;
};
result<const pmix_calls*> load_pmix();
const pmix_calls& pmix();

}  // namespace selion::machine::fabric
