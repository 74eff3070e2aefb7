// SPDX-License-Identifier: Apache-2.0
// The host of the source's example: two slaves, one adds numbers, the other their squares, at the
// same time. Its slaves run examples/spc_slave.cpp.
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <selion/spc.hpp>

using namespace selion::spc;

enum { IDX_sum, IDX_sumsq };

int main(int, char** argv) {
    const std::string slave = std::filesystem::path(argv[0]).replace_filename("spc_slave");
    std::vector<std::int32_t> a(256);
    std::iota(a.begin(), a.end(), 1);

    // Create SPC servers.
    spc_server board1(slave);
    spc_server board2(slave);
    // Create SPC arguments.
    spc_args args;
    args.put_i32(SPC_IN, 256);
    args.put_vi32(SPC_IN, a.data(), 256);
    args.put_i32(SPC_OUT);
    // Start remote execution.
    board1.call(IDX_sumsq, args);
    board2.call(IDX_sum, args);
    // Synchronise and read results.
    std::int32_t sum = 0;
    std::int32_t sumsq = 0;
    board1.wait();
    board1.get_i32(&sumsq);
    board2.wait();
    board2.get_i32(&sum);
    std::printf("sum %d, sum of squares %d\n", sum, sumsq);
}
