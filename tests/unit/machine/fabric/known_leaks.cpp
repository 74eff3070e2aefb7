// SPDX-License-Identifier: Apache-2.0

/// What a leak checker does not report, where there is one: the records that libfabric 1.17 keeps
/// of an endpoint of its provider `net` that has been closed, and of its connections.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }
