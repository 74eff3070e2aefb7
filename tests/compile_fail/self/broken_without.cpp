// SPDX-License-Identifier: Apache-2.0
// message: always said
int main() { static_assert(false, "always said"); }
