// SPDX-License-Identifier: Apache-2.0
#include "machine/host/spare_memory.hpp"

#include <new>

#include "selion/detail/rank_context.hpp"

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

/// Simulated ranks share a thread, but not a cache: a piece that goes from one to the next would
/// take the lines of its last owner with it.
spare_memory* own_pieces() {
    const detail::rank_context* const caller = detail::current_context;
    if (have_ended || (caller != nullptr && caller->simulated != nullptr)) return nullptr;
    thread_local own_memory own;
    return &own.all;
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

/// The largest ones go first: what is asked for now may be of another size than before.
void spare_memory::make_room(std::size_t bytes) noexcept {
    for (std::size_t number = sizes; number-- > 0;) {
        std::vector<std::byte*>& same = pieces_[number];
        while (!same.empty() && kept_bytes_ + bytes > most_bytes) {
            ::operator delete(same.back(), aligned);
            same.pop_back();
            kept_bytes_ -= least_bytes << number;
        }
    }
}

void spare_memory::give_back(std::byte* piece, std::size_t bytes) noexcept {
    if (bytes < least_bytes || bytes > most_bytes) return ::operator delete(piece, aligned);
    make_room(rounded(bytes));
    try {
        pieces_[number_of_size(bytes)].push_back(piece);
        kept_bytes_ += rounded(bytes);
    } catch (const std::bad_alloc&) {
        ::operator delete(piece, aligned);
    }
}

std::byte* take_memory(std::size_t bytes) {
    spare_memory* const own = own_pieces();
    return own == nullptr ? allocate(bytes) : own->take(bytes);
}

void give_back_memory(std::byte* piece, std::size_t bytes) noexcept {
    spare_memory* const own = own_pieces();
    if (own == nullptr) return ::operator delete(piece, aligned);
    own->give_back(piece, bytes);
}

}  // namespace selion::machine
