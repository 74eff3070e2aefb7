// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "base/exception_text.hpp"
#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "selion/reduction.hpp"

namespace selion::detail {

/// Not left to the member that has thrown: it might go on, and the others would wait for ever.
void end_job_for_operation() {
    rank_context& context = *current_context;
    if (context.ranks == 0) throw;  // nobody waits
    context.host->launcher().end_job(
        context,
        fmt::format("rank {} of {}: the operation of a reduction has thrown an exception of type "
                    "{}: {}; it must not throw, because other members wait for what it gives, {}; "
                    "the job ends",
                    context.rank, context.ranks, base::type_name_of_current_exception(),
                    base::text_of_current_exception(), machine::last_call_text(*context.call)));
    std::abort();  // compilers do not see that a virtual call never returns
}

}  // namespace selion::detail
