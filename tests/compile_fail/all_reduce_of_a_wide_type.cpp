// SPDX-License-Identifier: Apache-2.0
// message: whose alignment is at most 128 bytes
#include <selion/world.hpp>

template <int Alignment>
struct alignas(Alignment) page {
    long words[Alignment / sizeof(long)];
};
struct add_first {
    template <class T>
    T operator()(T a, const T& b) const {
        a.words[0] += b.words[0];
        return a;
    }
};

page<128> use(selion::world& world) {
#ifdef MUST_FAIL
    static_cast<void>(world.all_reduce(page<256>{}, add_first{}));
#endif
    return world.all_reduce(page<128>{}, add_first{});
}
