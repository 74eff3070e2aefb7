// SPDX-License-Identifier: Apache-2.0
// message: selion::get moves bytes: T must be trivially copyable
#include <string>

#include <selion/put_get.hpp>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::get(selion::global_ptr<std::string>()));
#else
    static_cast<void>(selion::get(selion::global_ptr<int>()));
#endif
}
