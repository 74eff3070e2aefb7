// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/endpoint.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <utility>

#include "machine/fabric/brief_lock.hpp"
#include "machine/fabric/completion_queue.hpp"
#include "machine/fabric/libraries.hpp"
#include "machine/fabric/limits.hpp"
#include "machine/fabric/providers.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::size_t send_buffers = 64;
constexpr std::size_t receive_buffers = 128;
constexpr std::size_t moves = 64;         ///< at a time
constexpr std::size_t most_at_once = 16;  ///< completions of one look
constexpr std::size_t most_address_bytes = 256;
constexpr int most_post_tries = 1'000'000;

constexpr int silencing_ms = 1;

bool is_readable(int file) {
    pollfd one{file, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
}

/// Room for one frame that is being sent; the first member, so that its address is the buffer's.
struct send_buffer {
    fi_context2 context;
    std::uint32_t peer = 0;
    void* memory = nullptr;  ///< as the provider knows it, if it has to
    alignas(16) std::array<std::byte, frame_bytes> bytes;
};

/// What follows a frame's head in it is aligned.
struct alignas(64) receive_buffer {
    fi_context2 context;
    std::array<std::byte, 64 - sizeof(frame_head) % 64> before;
    std::array<std::byte, frame_bytes> bytes;
};
static_assert((offsetof(receive_buffer, bytes) + sizeof(frame_head)) % message_alignment == 0);

/// A move under way.
struct move_place {
    fi_context2 context;
    std::uint32_t peer = 0;
    bool is_read = false;
    move_owner* what = nullptr;
};

error failure(std::string_view what, const fi_info& info, int code) {
    std::string cure = cure_of_limit(-code);
    if (cure.empty()) {
        cure =
            "set SELION_FABRIC_PROVIDER or SELION_FABRIC_INTERFACE to others: `selion doctor "
            "--fabric` lists them";
    }
    return {status::system_failure, fmt::format("fabric: cannot {} with provider {} on {} ({}); {}",
                                                what, provider_name(info), interface_name(info),
                                                libfabric().strerror(-code), cure)};
}

}  // namespace

struct endpoint::parts {
    std::shared_ptr<const chosen_info> choice;
    const fi_info* info = nullptr;
    std::unique_ptr<std::array<send_buffer, send_buffers>> outgoing;
    std::unique_ptr<std::array<receive_buffer, receive_buffers>> incoming;
    owned<fid_fabric> fabric;
    owned<fid_domain> domain;
    owned<fid_av> addresses;
    completion_queue completions;
    std::vector<std::unique_ptr<send_buffer>> more_outgoing;
    owned<fid_mr> send_memory;
    std::vector<owned<fid_mr>> more_memory;
    owned<fid_mr> receive_memory;
    owned<fid_mr> offered_memory;
    owned<fid_ep> end;  // the last one: it is closed first

    std::array<move_place, moves> move_places;
    std::vector<send_buffer*> free;  ///< of who sends
    brief_lock returned_lock;
    std::vector<send_buffer*> returned;  ///< by who reads
    std::vector<move_place*> free_moves;

    /// Of the provider's table of memory that others reach: `net` of libfabric 1.17 lets what
    /// changes it and what looks something up there meet: a look for events, or a buffer that a
    /// stream goes on with.
    brief_lock regions;

    std::array<fi_cq_data_entry, most_at_once> found;
    std::size_t entry = 0;
    std::size_t entry_count = 0;
    receive_buffer* used_up = nullptr;  ///< to be posted again before the next event
    std::string trouble;                ///< of the last event that failed

    int open_objects();
    int bind_and_enable();
    int register_memory();
    int post(receive_buffer& buffer);
    int register_for_others(std::span<std::byte> memory, std::uint64_t access, std::uint64_t key,
                            fid_mr*& region) {
        const std::lock_guard lock(regions);
        return fi_mr_reg(domain.get(), memory.data(), memory.size(), access, 0, key, 0, &region,
                         nullptr);
    }
    /// Lets the provider go on. @return how many events it has found.
    ssize_t look(std::size_t most) {
        const std::lock_guard lock(regions);
        return fi_cq_read(completions.get(), most == 0 ? nullptr : found.data(), most);
    }
    send_buffer* take_buffer() {
        if (free.empty()) {
            const std::lock_guard lock(returned_lock);
            free.swap(returned);
        }
        return take_last(free);
    }
    move_place* take_move() {
        const std::lock_guard lock(returned_lock);
        return take_last(free_moves);
    }
    template <class Place>
    static Place* take_last(std::vector<Place*>& places) {
        if (places.empty()) return nullptr;
        Place* const taken = places.back();
        places.pop_back();
        return taken;
    }
    void give_back(send_buffer* buffer) {
        const std::lock_guard lock(returned_lock);
        returned.push_back(buffer);
    }
    void give_back(move_place* place) {
        const std::lock_guard lock(returned_lock);
        free_moves.push_back(place);
    }
    /// What an entry of the queue is about is told by its place: of a read that has not left, `net`
    /// says in an error neither that it is one, nor anything else.
    bool is_move(const void* place) const { return lies_in(move_places, place); }
    bool is_receive(const void* place) const { return lies_in(*incoming, place); }
    template <class Places>
    static bool lies_in(const Places& places, const void* place) {
        return !std::less<>()(place, static_cast<const void*>(places.data())) &&
               std::less<>()(place, static_cast<const void*>(places.data() + places.size()));
    }
    static void* memory_of(const owned<fid_mr>& region) {
        return region == nullptr ? nullptr : fi_mr_desc(region.get());
    }
};

int endpoint::parts::open_objects() {
    fid_fabric* opened_fabric = nullptr;
    if (const int code = libfabric().fabric(info->fabric_attr, &opened_fabric, nullptr))
        return code;
    fabric.reset(opened_fabric);
    fid_domain* opened_domain = nullptr;
    fi_info* const wanted = const_cast<fi_info*>(info);
    if (const int code = fi_domain(fabric.get(), wanted, &opened_domain, nullptr)) return code;
    domain.reset(opened_domain);
    fi_av_attr table{};
    table.type = FI_AV_TABLE;
    fid_av* opened_table = nullptr;
    if (const int code = fi_av_open(domain.get(), &table, &opened_table, nullptr)) return code;
    addresses.reset(opened_table);
    if (const int code = completions.open(*domain, send_buffers + receive_buffers + moves)) {
        return code;
    }
    fid_ep* opened_end = nullptr;
    if (const int failed = fi_endpoint(domain.get(), wanted, &opened_end, nullptr)) return failed;
    end.reset(opened_end);
    return 0;
}

int endpoint::parts::bind_and_enable() {
    if (const int code = fi_ep_bind(end.get(), &addresses->fid, 0)) return code;
    if (const int code = fi_ep_bind(end.get(), &completions.get()->fid, FI_TRANSMIT | FI_RECV)) {
        return code;
    }
    return fi_enable(end.get());
}

int endpoint::parts::register_memory() {
    outgoing = std::make_unique<std::array<send_buffer, send_buffers>>();
    incoming = std::make_unique<std::array<receive_buffer, receive_buffers>>();
    if ((info->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return 0;
    fid_mr* region = nullptr;
    if (const int code = fi_mr_reg(domain.get(), outgoing.get(), sizeof *outgoing, FI_SEND, 0, 0, 0,
                                   &region, nullptr)) {
        return code;
    }
    send_memory.reset(region);
    if (const int code = fi_mr_reg(domain.get(), incoming.get(), sizeof *incoming, FI_RECV, 0, 1, 0,
                                   &region, nullptr)) {
        return code;
    }
    receive_memory.reset(region);
    return 0;
}

int endpoint::parts::post(receive_buffer& buffer) {
    ssize_t code = -FI_EAGAIN;
    for (int i = 0; code == -FI_EAGAIN && i < most_post_tries; ++i) {
        // What was waiting for a buffer goes on in it.
        const std::lock_guard lock(regions);
        code = fi_recv(end.get(), buffer.bytes.data(), buffer.bytes.size(),
                       memory_of(receive_memory), FI_ADDR_UNSPEC, &buffer.context);
    }
    return static_cast<int>(code);
}

result<std::vector<std::unique_ptr<endpoint>>> endpoint::open(const endpoint_wish& wish,
                                                              std::uint32_t count) {
    result<chosen_info> chosen = choose_provider(wish);
    if (!chosen) return chosen.trouble();
    const auto choice = std::make_shared<const chosen_info>(std::move(chosen).value());
    std::vector<std::unique_ptr<endpoint>> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto made = std::make_unique<parts>();
        made->choice = choice;
        made->info = choice->best;
        result<std::unique_ptr<endpoint>> opened = open_one(std::move(made));
        if (!opened) return opened.trouble();
        all.push_back(std::move(opened).value());
    }
    return all;
}

result<std::unique_ptr<endpoint>> endpoint::open_one(std::unique_ptr<parts> made) {
    if (const int code = made->open_objects()) {
        return failure("open an endpoint", *made->info, code);
    }
    if (const int code = made->bind_and_enable()) {
        return failure("enable an endpoint", *made->info, code);
    }
    if (const int code = made->register_memory()) {
        return failure("register memory", *made->info, code);
    }
    for (receive_buffer& buffer : *made->incoming) {
        if (const int code = made->post(buffer)) {
            return failure("post receive buffers", *made->info, code);
        }
    }
    for (send_buffer& buffer : *made->outgoing) {
        buffer.memory = parts::memory_of(made->send_memory);
        made->free.push_back(&buffer);
    }
    for (move_place& place : made->move_places) made->free_moves.push_back(&place);
    return std::unique_ptr<endpoint>(new endpoint(std::move(made)));
}

endpoint::endpoint(std::unique_ptr<parts> made) : parts_(std::move(made)) {}
endpoint::~endpoint() = default;

std::string endpoint::provider() const { return provider_name(*parts_->info); }
std::string endpoint::interface() const { return interface_name(*parts_->info); }

std::vector<std::byte> endpoint::name() const {
    std::vector<std::byte> bytes(most_address_bytes);
    std::size_t size = bytes.size();
    if (fi_getname(&parts_->end->fid, bytes.data(), &size) != 0) size = 0;
    bytes.resize(std::min(size, bytes.size()));
    return bytes;
}

result<peer_address> endpoint::insert(std::span<const std::byte> name) {
    fi_addr_t place = FI_ADDR_UNSPEC;
    // Addresses of a kind have a length, which the provider does not ask for.
    const bool is_alike = name.size() == this->name().size();
    if (!is_alike ||
        fi_av_insert(parts_->addresses.get(), name.data(), 1, &place, 0, nullptr) != 1) {
        return error(
            status::system_failure,
            fmt::format("an address of {} bytes is none of provider {}", name.size(), provider()));
    }
    return place;
}

send_outcome endpoint::try_send(peer_address to, std::uint32_t peer, const outgoing_frame& frame,
                                std::string& why) {
    send_buffer* const buffer = parts_->take_buffer();
    if (buffer == nullptr) return send_outcome::busy;
    buffer->peer = peer;
    std::byte* place = buffer->bytes.data();
    const auto add = [&](const void* from, std::size_t bytes) {
        if (bytes != 0) std::memcpy(place, from, bytes);
        place += bytes;
    };
    add(&frame.head, sizeof frame.head);
    add(frame.first.data(), frame.first.size());
    add(frame.second.data(), frame.second.size());
    const auto bytes = static_cast<std::size_t>(place - buffer->bytes.data());
    const ssize_t code = fi_send(parts_->end.get(), buffer->bytes.data(), bytes, buffer->memory, to,
                                 &buffer->context);
    if (code == 0) return send_outcome::sent;
    parts_->give_back(buffer);
    if (code != -FI_EAGAIN) why = libfabric().strerror(static_cast<int>(-code));
    return send_outcome::busy;
}

bool endpoint::has_buffer() const {
    if (!parts_->free.empty()) return true;
    const std::lock_guard lock(parts_->returned_lock);
    return !parts_->returned.empty();
}

void endpoint::replace_buffers(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        auto made = std::make_unique<send_buffer>();
        if ((parts_->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
            fid_mr* region = nullptr;
            const int code = fi_mr_reg(parts_->domain.get(), made.get(), sizeof *made, FI_SEND, 0,
                                       0, 0, &region, nullptr);
            if (code != 0) return;  // those that are there have to do
            parts_->more_memory.emplace_back(region);
            made->memory = fi_mr_desc(region);
        }
        parts_->give_back(made.get());
        parts_->more_outgoing.push_back(std::move(made));
    }
}

bool endpoint::can_move() const { return moves_in_order(*parts_->info); }

std::optional<error> endpoint::offer(std::span<std::byte> memory, std::uint64_t key) {
    fid_mr* region = nullptr;
    const int code =
        parts_->register_for_others(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, key, region);
    if (code != 0) return failure("offer memory", *parts_->info, code);
    parts_->offered_memory.reset(region);
    return {};
}

std::shared_ptr<void> endpoint::lend(std::span<std::byte> memory, std::uint64_t key) {
    fid_mr* region = nullptr;
    if (parts_->register_for_others(memory, FI_REMOTE_READ, key, region) != 0) return nullptr;
    return {region, [of = parts_.get()](fid_mr* lent) {
                const std::lock_guard lock(of->regions);
                fi_close(&lent->fid);
            }};
}

send_outcome endpoint::try_move(const memory_move& move, std::string& why) {
    move_place* const place = parts_->take_move();
    if (place == nullptr) return send_outcome::busy;
    place->peer = move.peer;
    place->is_read = move.is_read;
    place->what = move.what;
    fid_ep* const end = parts_->end.get();
    const ssize_t code = move.is_read ? fi_read(end, move.own, move.bytes, nullptr, move.to,
                                                move.offset, move.key, &place->context)
                                      : fi_write(end, move.own, move.bytes, nullptr, move.to,
                                                 move.offset, move.key, &place->context);
    if (code == 0) return send_outcome::sent;
    parts_->give_back(place);
    if (code != -FI_EAGAIN) why = libfabric().strerror(static_cast<int>(-code));
    return send_outcome::busy;
}

[[gnu::always_inline]] inline bool endpoint::read_completion(endpoint_event& event) {
    const fi_cq_data_entry& entry = parts_->found[parts_->entry++];
    if (parts_->is_receive(entry.op_context)) {
        auto* const buffer = reinterpret_cast<receive_buffer*>(entry.op_context);
        parts_->used_up = buffer;
        event.what = endpoint_event::kind::received;
        event.frame = {buffer->bytes.data(), entry.len};
        return true;
    }
    if (parts_->is_move(entry.op_context)) {
        event.what = endpoint_event::kind::moved;
        end_move(entry.op_context, event);
        return true;
    }
    auto* const buffer = reinterpret_cast<send_buffer*>(entry.op_context);
    event.what = endpoint_event::kind::sent;
    event.peer = buffer->peer;
    parts_->give_back(buffer);
    return true;
}

bool endpoint::read(endpoint_event& event) {
    if (receive_buffer* const buffer = std::exchange(parts_->used_up, nullptr)) {
        if (const int code = parts_->post(*buffer)) {
            parts_->trouble =
                fmt::format("cannot post a receive buffer again: {}", libfabric().strerror(-code));
            event = {.what = endpoint_event::kind::failed, .why = parts_->trouble};
            return true;
        }
    }
    if (parts_->entry == parts_->entry_count) {
        parts_->entry = parts_->entry_count = 0;
        const ssize_t count = parts_->look(most_at_once);
        if (count == -FI_EAGAIN || count == 0) return false;
        if (count < 0) {
            read_error(event);
            return true;
        }
        parts_->entry_count = static_cast<std::size_t>(count);
    }
    return read_completion(event);
}

void endpoint::drive() { static_cast<void>(parts_->look(0)); }

bool endpoint::has_event() const { return parts_->entry != parts_->entry_count; }

void endpoint::end_move(void* context, endpoint_event& event) {
    auto* const place = reinterpret_cast<move_place*>(context);
    event.peer = place->peer;
    event.moved = place->what;
    event.is_read = place->is_read;
    parts_->give_back(place);
}

void endpoint::read_error(endpoint_event& event) {
    fi_cq_err_entry trouble{};
    std::array<char, 256> text{};
    trouble.err_data = nullptr;
    const ssize_t count = fi_cq_readerr(parts_->completions.get(), &trouble, 0);
    std::string& why = parts_->trouble;
    if (count != 1) {
        why = "the completion queue cannot be read";
        event = {.what = endpoint_event::kind::failed, .why = why};
        return;
    }
    why = libfabric().strerror(trouble.err);
    const char* const more = fi_cq_strerror(parts_->completions.get(), trouble.prov_errno,
                                            trouble.err_data, text.data(), text.size());
    if (more != nullptr && *more != '\0' && why != more) why += fmt::format(", {}", more);
    event = {.what = endpoint_event::kind::failed, .why = why};
    if (trouble.op_context == nullptr) return;
    if (parts_->is_move(trouble.op_context)) return end_move(trouble.op_context, event);
    if (parts_->is_receive(trouble.op_context)) {
        event.is_receive = true;
        parts_->used_up = reinterpret_cast<receive_buffer*>(trouble.op_context);
        return;
    }
    auto* const buffer = reinterpret_cast<send_buffer*>(trouble.op_context);
    event.peer = buffer->peer;
    parts_->give_back(buffer);
}

int endpoint::wait_file() const { return parts_->completions.file(); }

bool endpoint::may_sleep() {
    if (has_event() || parts_->used_up != nullptr) return false;
    if (parts_->completions.file() < 0) return true;
    fid* queue = &parts_->completions.get()->fid;
    if (fi_trywait(parts_->fabric.get(), &queue, 1) != FI_SUCCESS) return false;
    if (!is_readable(parts_->completions.file())) return true;
    // Some providers leave their own bell ringing for what has long been taken; only a wait of
    // theirs silences it.
    const std::lock_guard lock(parts_->regions);
    const ssize_t count = fi_cq_sread(parts_->completions.get(), parts_->found.data(), most_at_once,
                                      nullptr, silencing_ms);
    if (count > 0) {
        parts_->entry = 0;
        parts_->entry_count = static_cast<std::size_t>(count);
    }
    return count == -FI_EAGAIN && !is_readable(parts_->completions.file());
}

}  // namespace selion::machine::fabric
