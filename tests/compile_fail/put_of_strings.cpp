// SPDX-License-Identifier: Apache-2.0
// message: selion::put moves bytes: T must be trivially copyable
#include <span>
#include <string>

#include <selion/put_get.hpp>

void use() {
#ifdef MUST_FAIL
    selion::put(selion::global_ptr<std::string>(), std::span<const std::string>());
#else
    selion::put(selion::global_ptr<int>(), std::span<const int>());
#endif
}
