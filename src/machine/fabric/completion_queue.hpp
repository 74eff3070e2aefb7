// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <memory>

/// For files that know libfabric.
namespace selion::machine::fabric {

/// Closes what libfabric has opened.
struct closer {
    template <class Object>
    void operator()(Object* object) const {
        fi_close(&object->fid);
    }
};
template <class Object>
using owned = std::unique_ptr<Object, closer>;

/// Where an endpoint tells what has come and what has left, with a file to sleep on where the
/// provider has one.
class completion_queue {
public:
    /// @param size events that it holds. @return an error of libfabric, or 0.
    int open(fid_domain& domain, std::size_t size);
    fid_cq* get() const { return queue_.get(); }
    /// Becomes readable with an event; -1: there is none.
    int file() const { return file_; }

private:
    owned<fid_cq> queue_;
    int file_ = -1;
};

/// Whether a queue of this provider would have a file. Opens one.
bool has_wait_file(const fi_info& info);

}  // namespace selion::machine::fabric
