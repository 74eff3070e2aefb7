// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <selion/detail/export.hpp>
#include <selion/routine_call.hpp>
#include <selion/worker_pool.hpp>

/// Spert procedure calls, as programs for MultiSpert knew them ("Parallel Computing on MultiSpert",
/// ICSI TR-97-046, section 3.3): a thin layer over `worker_pool` with one worker process for each
/// server. New programs do better with `selion/worker_pool.hpp`, where the compiler checks
/// arguments.
namespace selion::spc {

/// Which way an argument travels.
enum spc_direction { SPC_IN, SPC_OUT, SPC_INOUT };

namespace detail {

enum class element : std::uint32_t { i8, u8, i16, u16, i32, u32, f32, f64 };
/// An argument, as it stands at the start of a call's block.
struct entry {
    element type;
    spc_direction direction;
    std::uint64_t count;
    std::uint64_t place;  ///< in the block of what goes in, or, if it comes back, of that
};

}  // namespace detail

/// What a slave's routine gets. Ask for its arguments in the order in which the host has put them.
class spc_arguments {
public:
    SELION_API spc_arguments(std::span<const std::byte> in, std::span<std::byte> out);

    /// The next argument. @error bad_argument: there is none, or it is of another type.
    SELION_API void* next(detail::element type, bool is_vector);

private:
    std::span<const std::byte> in_;
    std::span<std::byte> out_;
    std::vector<detail::entry> entries_;
    std::size_t at_ = 0;
};
using SPC_ARGS = spc_arguments&;
using SPC_CALL = void (*)(SPC_ARGS);

/// Arguments of a call: used for one call or for several.
class spc_args {
public:
    spc_args() = default;

    /// Adds one. @param data read now unless it only comes out.
    SELION_API void put(spc_direction direction, detail::element type, const void* data,
                        std::size_t count, std::size_t element_bytes);

#define SELION_SPC_PUT(name, type)                                                     \
    void put_##name(spc_direction direction, type value = 0) {                         \
        put(direction, detail::element::name, &value, 1, sizeof(type));                \
    }                                                                                  \
    void put_v##name(spc_direction direction, const type* values, std::size_t count) { \
        put(direction, detail::element::name, values, count, sizeof(type));            \
    }
    SELION_SPC_PUT(i8, std::int8_t)
    SELION_SPC_PUT(u8, std::uint8_t)
    SELION_SPC_PUT(i16, std::int16_t)
    SELION_SPC_PUT(u16, std::uint16_t)
    SELION_SPC_PUT(i32, std::int32_t)
    SELION_SPC_PUT(u32, std::uint32_t)
    SELION_SPC_PUT(f32, float)
    SELION_SPC_PUT(f64, double)
#undef SELION_SPC_PUT

private:
    friend class spc_server;
    std::vector<detail::entry> entries_;
    std::vector<std::byte> in_;
    std::uint64_t out_bytes_ = 0;
};

/// A slave: a process that runs a program which calls `SPC_EVENT_LOOP`.
class spc_server {
public:
    /// 8 MB, as a board had.
    static constexpr std::uint64_t board_memory = std::uint64_t{8} << 20;

    /// Starts the program, and waits until it is ready. @error system_failure
    SELION_API explicit spc_server(const std::string& program,
                                   std::uint64_t memory_bytes = board_memory);
    spc_server(spc_server&&) noexcept = default;
    /// The slave before goes with the other: its call is waited for there, with its arguments.
    spc_server& operator=(spc_server&& other) noexcept {
        in_.swap(other.in_);
        out_.swap(other.out_);
        entries_.swap(other.entries_);
        std::swap(read_, other.read_);
        std::swap(is_done_, other.is_done_);
        pool_.swap(other.pool_);
        call_.swap(other.call_);
        return *this;
    }

    /// Sends arguments and number of a routine to the slave, and returns. One call at a time.
    /// @error bad_argument: the one before has not been waited for.
    SELION_API void call(std::uint32_t routine, const spc_args& arguments);
    void call(std::uint32_t routine, const spc_args* arguments) { call(routine, *arguments); }
    /// Waits until the routine is done. Throws what it has thrown.
    SELION_API void wait();
    /// Reads the next argument that comes back, in the order of the puts. @pre the call is done.
    /// @error bad_argument: it has not been waited for, there is none, or it is of another type.
    SELION_API void get(detail::element type, void* into, std::size_t count,
                        std::size_t element_bytes);

#define SELION_SPC_GET(name, type)                                                       \
    void get_##name(type* value) { get(detail::element::name, value, 1, sizeof(type)); } \
    void get_v##name(type* values, std::size_t count) {                                  \
        get(detail::element::name, values, count, sizeof(type));                         \
    }
    SELION_SPC_GET(i8, std::int8_t)
    SELION_SPC_GET(u8, std::uint8_t)
    SELION_SPC_GET(i16, std::int16_t)
    SELION_SPC_GET(u16, std::uint16_t)
    SELION_SPC_GET(i32, std::int32_t)
    SELION_SPC_GET(u32, std::uint32_t)
    SELION_SPC_GET(f32, float)
    SELION_SPC_GET(f64, double)
#undef SELION_SPC_GET

private:
    std::vector<std::byte> in_;
    std::vector<std::byte> out_;
    std::vector<detail::entry> entries_;
    std::size_t read_ = 0;
    bool is_done_ = false;
    std::unique_ptr<worker_pool> pool_;
    std::optional<routine_call<>> call_;
};

#define SELION_SPC_ARGUMENT(name, type)                                          \
    inline type* spc_getarg_##name(SPC_ARGS arguments) {                         \
        return static_cast<type*>(arguments.next(detail::element::name, false)); \
    }                                                                            \
    inline type* spc_getarg_v##name(SPC_ARGS arguments) {                        \
        return static_cast<type*>(arguments.next(detail::element::name, true));  \
    }
SELION_SPC_ARGUMENT(i8, std::int8_t)
SELION_SPC_ARGUMENT(u8, std::uint8_t)
SELION_SPC_ARGUMENT(i16, std::int16_t)
SELION_SPC_ARGUMENT(u16, std::uint16_t)
SELION_SPC_ARGUMENT(i32, std::int32_t)
SELION_SPC_ARGUMENT(u32, std::uint32_t)
SELION_SPC_ARGUMENT(f32, float)
SELION_SPC_ARGUMENT(f64, double)
#undef SELION_SPC_ARGUMENT

/// Serves calls of the host: number 0 goes to `calls[0]`. Returns when the host has done with it.
/// @param argument_bytes most bytes of a call's arguments, both ways together.
/// @return exit status for `main`; 1, with a sentence, if no host has started this program.
SELION_API int SPC_EVENT_LOOP(std::span<const SPC_CALL> calls, std::size_t argument_bytes);

}  // namespace selion::spc
