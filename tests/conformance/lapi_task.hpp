// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conformance/spmd.hpp"
#include "selion/lapi.h"

namespace spmd {

/// A task for the time of a test.
class lapi_task {
public:
    lapi_task(test_run& test, selion::world& world) : test_(test), world_(world) {
        lapi_info_t info{};
        info.err_hndlr = note_trouble;
        test.equal(LAPI_Init(&handle, &info), int{LAPI_SUCCESS});
        next = test.neighbour();
        before = test.neighbour_before();
    }
    ~lapi_task() { test_.equal(LAPI_Term(handle), int{LAPI_SUCCESS}); }

    /// The address that each task passes.
    template <class T>
    std::vector<T*> exchange(T* own) const {
        std::vector<T*> all(world_.size());
        const int code = LAPI_Address_init(handle, own, reinterpret_cast<void**>(all.data()));
        test_.equal(code, int{LAPI_SUCCESS});
        return all;
    }
    void wait(lapi_cntr_t& which, int value = 1) const {
        int left = -1;
        test_.equal(LAPI_Waitcntr(handle, &which, value, &left), int{LAPI_SUCCESS});
    }
    void good(int code, std::source_location site = std::source_location::current()) const {
        test_.equal(code, int{LAPI_SUCCESS}, site);
    }
    int value(lapi_cntr_t& which) const {
        int now = -1;
        good(LAPI_Getcntr(handle, &which, &now));
        return now;
    }

    /// All have done what they do before it. A test ends so if others use its variables.
    void meet() const { good(LAPI_Gfence(handle)); }

    /// Trouble goes to whoever waits for this.
    struct trouble {
        lapi_handle_t handle;
        int code, kind, origin;
    };
    static inline trouble last_trouble{};  // the test that uses it runs on few machines

    lapi_handle_t handle = 0;
    uint next = 0;
    uint before = 0;

private:
    static void note_trouble(lapi_handle_t* handle, int* code, lapi_err_t* kind, int*,
                             int* origin) {
        last_trouble = {*handle, *code, *kind, *origin};
    }
    test_run& test_;
    selion::world& world_;
};

}  // namespace spmd
