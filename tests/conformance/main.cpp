// SPDX-License-Identifier: Apache-2.0
#include "conformance/spmd.hpp"

int main(int argc, char** argv) { return spmd::run_all(argc, argv); }
