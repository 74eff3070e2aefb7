// SPDX-License-Identifier: Apache-2.0
// The host of the source's example: two slaves, one adds numbers, the other their squares, at the
// same time. Its slaves run examples/spc_slave.cpp.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <selion/spc.hpp>

#include "printed.hpp"

using namespace selion::spc;

enum { IDX_sum, IDX_sumsq };

namespace {

/// @return the exit status.
int call_slaves(const std::string& slave) {
    constexpr std::int32_t n = 256;
    std::vector<std::int32_t> a(n);
    std::iota(a.begin(), a.end(), 1);

    // Create SPC servers.
    spc_server board1(slave);
    spc_server board2(slave);
    // Create SPC arguments.
    spc_args args;
    args.put_i32(SPC_IN, n);
    args.put_vi32(SPC_IN, a.data(), a.size());
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
    const bool is_right = sum == n * (n + 1) / 2 && sumsq == n * (n + 1) * (2 * n + 1) / 6;
    return examples::printed("spc_host", is_right ? 0 : 1);
}

}  // namespace

int main(int, char** argv) {
    // A slave that is not there, or that dies, is an exception.
    try {
        return call_slaves(std::filesystem::path(argv[0]).replace_filename("spc_slave"));
    } catch (const std::exception& trouble) {
        std::fprintf(stderr, "spc_host: %s\n", trouble.what());
        return 1;
    }
}
