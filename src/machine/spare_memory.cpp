// SPDX-License-Identifier: Apache-2.0
#include "machine/spare_memory.hpp"

#include <new>

namespace selion::machine {
namespace {

constexpr std::align_val_t aligned{spare_memory::alignment};

std::size_t number_of_size(std::size_t bytes) {
    return static_cast<std::size_t>(std::bit_width((bytes - 1) / spare_memory::least_bytes));
}

std::byte* allocate(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new(spare_memory::rounded(bytes), aligned));
}

/// A thread's own ones, until it ends: what lives longer must not come back to them.
thread_local constinit bool have_ended = false;
struct own_memory {
    spare_memory all;
    ~own_memory() { have_ended = true; }
};

spare_memory& own_pieces() {
    thread_local own_memory own;
    return own.all;
}

}  // namespace

spare_memory::~spare_memory() {
    for (const auto& same : pieces_) {
        for (std::byte* const piece : same) ::operator delete(piece, aligned);
    }
}

std::byte* spare_memory::take(std::size_t bytes) {
    if (bytes < least_bytes || bytes > most_bytes) return allocate(bytes);
    std::vector<std::byte*>& same = pieces_[number_of_size(bytes)];
    if (same.empty()) return allocate(bytes);
    std::byte* const piece = same.back();
    same.pop_back();
    kept_bytes_ -= rounded(bytes);
    return piece;
}

void spare_memory::give_back(std::byte* piece, std::size_t bytes) noexcept {
    const bool is_kept = bytes >= least_bytes && kept_bytes_ + rounded(bytes) <= most_bytes;
    if (!is_kept) return ::operator delete(piece, aligned);
    try {
        pieces_[number_of_size(bytes)].push_back(piece);
        kept_bytes_ += rounded(bytes);
    } catch (const std::bad_alloc&) {
        ::operator delete(piece, aligned);
    }
}

std::byte* take_memory(std::size_t bytes) {
    return have_ended ? allocate(bytes) : own_pieces().take(bytes);
}

void give_back_memory(std::byte* piece, std::size_t bytes) noexcept {
    if (have_ended) return ::operator delete(piece, aligned);
    own_pieces().give_back(piece, bytes);
}

}  // namespace selion::machine
