// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/completion_queue.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "machine/fabric/libraries.hpp"

namespace selion::machine::fabric {

int completion_queue::open(fid_domain& domain, std::size_t size) {
    fi_cq_attr wanted{};
    wanted.format = FI_CQ_FORMAT_DATA;
    wanted.size = size;
    wanted.wait_obj = FI_WAIT_FD;
    fid_cq* opened = nullptr;
    int code = fi_cq_open(&domain, &wanted, &opened, nullptr);
    if (code != 0) {
        wanted.wait_obj = FI_WAIT_NONE;
        code = fi_cq_open(&domain, &wanted, &opened, nullptr);
    }
    if (code != 0) return code;
    queue_.reset(opened);
    const bool has_file =
        wanted.wait_obj == FI_WAIT_FD && fi_control(&opened->fid, FI_GETWAIT, &file_) == FI_SUCCESS;
    if (!has_file) file_ = -1;
    return 0;
}

bool has_wait_file(const fi_info& info) {
    fid_fabric* opened_fabric = nullptr;
    if (libfabric().fabric(info.fabric_attr, &opened_fabric, nullptr) != 0) return false;
    const owned<fid_fabric> fabric(opened_fabric);
    fid_domain* opened_domain = nullptr;
    if (fi_domain(fabric.get(), const_cast<fi_info*>(&info), &opened_domain, nullptr) != 0) {
        return false;
    }
    const owned<fid_domain> domain(opened_domain);
    completion_queue queue;
    return queue.open(*domain, 1) == 0 && queue.file() >= 0;
}

}  // namespace selion::machine::fabric
