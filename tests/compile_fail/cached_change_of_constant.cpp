// SPDX-License-Identifier: Apache-2.0
// message: selion: a reference to constant elements cannot be changed
#include <selion/cached_reference.hpp>

void use(selion::detail::block_view* view) {
#ifdef MUST_FAIL
    using element = const int;
#else
    using element = int;
#endif
    const selion::cached_reference<element> height(view, selion::global_ptr<element>(),
                                                   std::source_location::current());
    static_cast<void>(height.get());
    height += 1;
}
