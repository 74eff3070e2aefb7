// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer where the compiler has none: gives each file of a corpus to the target,
// whole and cut off at every length.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream stream(entry.path(), std::ios::binary);
            const std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
            for (std::size_t size = 0; size <= bytes.size(); ++size) {
                // A copy of the exact size, so that a sanitizer sees a read beyond the end.
                const std::vector<std::uint8_t> input(
                    bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
                LLVMFuzzerTestOneInput(input.data(), input.size());
            }
            ++files;
        }
    }
    std::printf("%zu files of the corpus, whole and cut\n", files);
    return files > 0 ? 0 : 1;
}
