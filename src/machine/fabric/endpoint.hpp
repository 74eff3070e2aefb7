// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/wire.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {

/// Which provider and which interface; empty: as is best.
struct endpoint_wish {
    std::string provider;
    std::string interface;
    bool is_on_one_host = false;  ///< all ranks are: then loopback is good enough
};

/// As SELION_FABRIC_PROVIDER and SELION_FABRIC_INTERFACE ask.
endpoint_wish wish_of_knobs();

/// Whether a provider's own decoders take no harm of what is not of the job.
bool withstands_strangers(std::string_view provider);
/// Whether its frames need connections (TCP).
bool goes_over_tcp(std::string_view provider);

/// How an attempt to send has ended.
enum class send_outcome : std::uint8_t {
    sent,  ///< or on its way
    busy,  ///< no buffer is free, or the provider takes nothing now
};

/// No rank.
inline constexpr std::uint32_t no_peer = UINT32_MAX;

/// A place in the provider's table of addresses.
using peer_address = std::uint64_t;

struct move_owner;

/// Bytes that the provider takes to a peer's memory, or from there, without frames.
struct memory_move {
    peer_address to = 0;
    std::uint32_t peer;
    std::uint64_t key = 0;  ///< of the peer's memory
    std::uint64_t offset;   ///< in it
    std::byte* own;
    std::size_t bytes;
    bool is_read;      ///< else the peer's memory is written
    move_owner* what;  ///< is told again with `moved`
};

/// What happened to an endpoint. What does not belong to its kind is left as it was.
struct endpoint_event {
    enum class kind : std::uint8_t { received, sent, moved, failed } what = kind::failed;
    std::span<const std::byte> frame = {};  ///< received: until the next call of `read`
    std::uint32_t peer = no_peer;           ///< sent, moved, failed: whom it was for
    std::string_view why = {};              ///< failed: until the next call of `read`
    move_owner* moved = nullptr;            ///< moved, failed: the move's `what`, if it was one
    bool is_read = false;                   ///< the move was
    bool is_receive = false;                ///< failed: of no frame that was sent, nor of a move
};

/// A reliable-datagram endpoint: the one place that knows libfabric. `try_send`, `insert`, `lend`
/// (and the end of what it returns) and `read` may be called at the same time by different threads,
/// each but `lend` by one at a time.
class endpoint {
public:
    /// Several of one provider, on one interface. They have nothing in common, not even a domain:
    /// providers share progress and its locks within one, so one thread would take what another
    /// sleeps for. @error system_failure with what is missing and what to change.
    static result<std::vector<std::unique_ptr<endpoint>>> open(const endpoint_wish& wish,
                                                               std::uint32_t count);
    ~endpoint();
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;

    std::string provider() const;
    std::string interface() const;
    /// Its own address, for the others.
    std::vector<std::byte> name() const;
    /// @error system_failure: it is no address of this provider.
    result<peer_address> insert(std::span<const std::byte> name);

    /// Copies the frame. @param peer is told again when it has been sent, with `sent`.
    /// @param why what is wrong, if the outcome is an error of the provider; else untouched.
    send_outcome try_send(peer_address to, std::uint32_t peer, const outgoing_frame& frame,
                          std::string& why);

    /// Whether peers may be given a key to memory of this process, and frames come after the
    /// moves before them.
    bool can_move() const;
    /// From now on others that know the key may read and write the memory. @error system_failure
    std::optional<error> offer(std::span<std::byte> memory, std::uint64_t key);
    /// The same for memory that peers only read, for as long as what is returned lives, which is
    /// less long than the endpoint. @return null: the provider refuses. @pre `can_move`
    std::shared_ptr<void> lend(std::span<std::byte> memory, std::uint64_t key);
    /// Begins a move. One that writes has read its own bytes when it is told as moved. @param why
    /// as of `try_send`. @pre `can_move`
    send_outcome try_move(const memory_move& move, std::string& why);

    /// Whether there is room for a frame. By who sends.
    bool has_buffer() const;
    /// Makes more room, in place of frames that may be under way for long.
    void replace_buffers(std::uint32_t count);

    /// The next event, if there is one. Frames are to be used before the next call.
    bool read(endpoint_event& event);
    /// Whether `read` has an event that it need not ask the provider for.
    bool has_event() const;

    /// Lets the provider go on, where nobody reads: what it has then is for `read` to take. By one
    /// thread at a time with those who read.
    void drive();

    /// File that becomes readable when `read` has something; -1: there is none.
    int wait_file() const;
    /// Whether it may be slept on now: nothing is there that it would not tell. Not while another
    /// thread reads; may take a millisecond.
    bool may_sleep();

private:
    struct parts;
    explicit endpoint(std::unique_ptr<parts> made);
    static result<std::unique_ptr<endpoint>> open_one(std::unique_ptr<parts> made);
    bool read_completion(endpoint_event& event);
    void end_move(void* context, endpoint_event& event);
    void read_error(endpoint_event& event);

    std::unique_ptr<parts> parts_;
};

}  // namespace selion::machine::fabric
