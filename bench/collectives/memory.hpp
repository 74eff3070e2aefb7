// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace bench::collectives {

/// Memory of one rank, in whole pages, so that nobody is slower for where its data begin.
class private_memory {
public:
    double* take(std::size_t count) {
        const std::size_t bytes = (count * sizeof(double) + page - 1) / page * page;
        blocks_.emplace_back(static_cast<double*>(::operator new(bytes, std::align_val_t{page})));
        return blocks_.back().get();
    }

private:
    static constexpr std::size_t page = 4096;
    struct release {
        void operator()(double* block) const { ::operator delete(block, std::align_val_t{page}); }
    };

    std::vector<std::unique_ptr<double, release>> blocks_;
};

}  // namespace bench::collectives
