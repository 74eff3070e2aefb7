// SPDX-License-Identifier: Apache-2.0
// message: never said
int main() {
#ifdef MUST_FAIL
    static_assert(false, "something else");
#endif
}
