// SPDX-License-Identifier: Apache-2.0
// What bench_startup starts to know what a process costs without Selion.
int main() {}
