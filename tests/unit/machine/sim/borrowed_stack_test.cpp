// SPDX-License-Identifier: Apache-2.0
/// Handlers run on the stack of whatever rank happens to have stopped.
#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

/// A handler of rank 1 throws and catches, while rank 0, whose stack it is, handles an exception.
TEST(borrowed_stack, a_handler_does_not_see_the_exception_of_another_rank) {
    static int seen = 0;
    for (const bool has_threads : {false, true}) {
        seen = 0;
        machine_model model = free_model(3, network_kind::crossbar);
        model.crossbar.latency = 100;
        run_setting setting = model_run::small();
        setting.has_threads = has_threads;
        model_run run(model, setting);
        run.run_each({[](model_rank& self) {
                          self.compute(50);
                          self.fall_in();  // the others have nothing to do any more
                          try {
                              throw std::runtime_error("trouble of rank 0");
                          } catch (const std::runtime_error& trouble) {
                              EXPECT_FALSE(self.await_until(0, 1, 1000));
                              EXPECT_TRUE(std::current_exception() != nullptr);
                              EXPECT_STREQ(trouble.what(), "trouble of rank 0");
                          }
                          EXPECT_TRUE(std::current_exception() == nullptr);
                      },
                      [](model_rank&) {}, [](model_rank& self) { self.send(1); }},
                     [](detail::rank_context&, incoming_message&) {
                         ++seen;
                         EXPECT_TRUE(std::current_exception() == nullptr);
                         try {
                             throw 1;
                         } catch (int) {
                             EXPECT_TRUE(std::current_exception() != nullptr);
                         }
                     });
        EXPECT_EQ(seen, 1);
    }
}

}  // namespace
}  // namespace selion::machine::sim
