// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <vector>

/// Large pieces of memory that come and go with each call. The C library gives such pieces back to
/// the kernel, and each page that is asked for anew costs a fault; for all of a piece they take
/// longer than to copy it. So a thread keeps some for whoever asks next.
namespace selion::machine {

/// The pieces that one thread keeps, in sizes of powers of two.
class spare_memory {
public:
    /// Smaller ones are the C library's matter.
    static constexpr std::size_t least_bytes = 4 * 1024;
    static constexpr std::size_t most_bytes = 16 * 1024 * 1024;  ///< of all that is kept
    static constexpr std::size_t alignment = 128;

    spare_memory() = default;
    ~spare_memory();
    spare_memory(const spare_memory&) = delete;
    spare_memory& operator=(const spare_memory&) = delete;

    /// @return a piece of `rounded(bytes)`, with anything in it.
    std::byte* take(std::size_t bytes);
    /// @param bytes as many as it was taken with. By any thread.
    void give_back(std::byte* piece, std::size_t bytes) noexcept;

    std::size_t kept_bytes() const { return kept_bytes_; }
    static std::size_t rounded(std::size_t bytes) {
        return bytes < least_bytes || bytes > most_bytes ? bytes : std::bit_ceil(bytes);
    }

private:
    void make_room(std::size_t bytes) noexcept;

    static constexpr std::size_t sizes = std::bit_width(most_bytes / least_bytes);
    std::array<std::vector<std::byte*>, sizes> pieces_;
    std::size_t kept_bytes_ = 0;
};

/// The same, of those that the calling thread keeps; simulated ranks keep none.
std::byte* take_memory(std::size_t bytes);
void give_back_memory(std::byte* piece, std::size_t bytes) noexcept;

}  // namespace selion::machine
