// SPDX-License-Identifier: Apache-2.0
// message: never said
int main() {}
