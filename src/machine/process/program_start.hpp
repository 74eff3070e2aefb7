// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace selion::machine {

/// What this program was started with, its own name first, whatever it has made of it since.
const std::vector<std::string>& own_arguments();

/// What the kernel wants of them: pointers that end with a null one, into the strings.
std::vector<char*> pointers_to(std::vector<std::string>& strings);

}  // namespace selion::machine
