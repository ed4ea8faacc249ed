// A transport that a test plays by hand: what comes, what there is room for, and what was sent.
#pragma once

#include "network/session/session_device.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace weft::network::session::test {

/// A message that was given to the transport.
struct Transmitted {
  int rank;  // of the link
  Header header;
  std::vector<std::byte> payload;

  template <class Payload>
  [[nodiscard]] Payload as() const {
    Payload object{};
    if (payload.size() == sizeof object) std::memcpy(&object, payload.data(), sizeof object);
    return object;
  }
};

class BuffersDouble final : public ReceiveBuffers {
 public:
  void grow(std::uint32_t count, std::uint32_t held) override {
    if (std::exchange(fails_once, false)) throw std::bad_alloc();
    grown.emplace_back(count, held);
  }
  void allow(std::uint32_t count) override { allowed += count; }
  void release(ReceivedMessage&) noexcept override { ++released; }
  detail::PayloadLender& copier() noexcept override { return *this; }
  PayloadOwner* keep(const std::byte*&, std::size_t, std::uint64_t&) noexcept override { return nullptr; }

  ReceivedMessage& make(std::vector<std::byte> bytes) {
    Buffer& made = buffers_.emplace_back();
    made.memory = std::move(bytes);
    made.bytes = made.memory.data();
    made.size = made.memory.size();
    return made;
  }

  bool fails_once = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> grown;
  std::uint32_t allowed = 0;
  std::size_t released = 0;

 private:
  struct Buffer : ReceivedMessage {
    std::vector<std::byte> memory;
  };
  std::deque<Buffer> buffers_;
};

class TransportDouble final : public Transport {
 public:
  // What a test decides
  bool can_connect = true;
  bool has_room = true;      // for messages of all kinds,
  std::set<Kind> refused;    // but for these
  std::set<Kind> is_broken;  // no message of these kinds will ever leave
  bool has_bulk_room = true;
  bool is_reaching_peers = false;
  bool carries = false;
  bool notices_ends = false;
  bool outlives = false;
  bool sleeps = true;
  std::chrono::nanoseconds sleep_limit = std::chrono::nanoseconds::max();
  int descriptor = -1;
  std::size_t frame_size = 1024;
  std::vector<std::byte> packet_content;  // of every packet, where frames take packets
  Unsent unsent_bytes;
  std::function<void(SessionDevice&)> on_drive;
  // What it has seen
  std::vector<Transmitted> sent;
  std::vector<std::pair<std::uint32_t, std::size_t>> packets;
  std::vector<std::uint32_t> released;  // packets that were copied into a frame
  std::size_t drives = 0;
  std::size_t prepared = 0;
  std::vector<int> ended_with;
  bool is_ended = false;
  BuffersDouble memory;

  /// The next drive passes it on.
  void arrive(std::vector<std::byte> bytes) { arriving_.push_back(&memory.make(std::move(bytes))); }

  bool connect(Link& link, std::span<const std::byte>) noexcept override {
    static_cast<void>(link);
    return can_connect;
  }
  Sent transmit(Link& link, const Header& header, Bytes payload) noexcept override {
    return take({link.rank, header, {payload.begin(), payload.end()}});
  }
  Sent transmit_packet(Link& link, const Header& header, std::uint32_t packet,
                       std::size_t size) noexcept override {
    const Sent answer = take({link.rank, header, {}});
    if (answer == Sent::yes) packets.emplace_back(packet, size);
    return answer;
  }
  [[nodiscard]] const std::byte* content_of_packet(std::uint32_t) const noexcept override {
    return packet_content.empty() ? nullptr : packet_content.data();
  }
  void release_packet(std::uint32_t packet) noexcept override { released.push_back(packet); }
  std::byte* take_frame() noexcept override {
    if (frames_ == 0) return nullptr;
    --frames_;
    room_.emplace_back(frame_size);
    return room_.back().data();
  }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return frame_size; }
  Sent transmit_frame(Link& link, std::byte* frame, std::size_t begin, std::size_t size) noexcept override {
    Header header{};
    std::memcpy(&header, frame + begin, sizeof header);
    const Bytes payload(frame + begin + sizeof header, size - sizeof header);
    const Sent answer = take({link.rank, header, {payload.begin(), payload.end()}});
    if (answer != Sent::later) ++frames_;
    return answer;
  }
  [[nodiscard]] bool has_room_for_bulk() const noexcept override { return has_bulk_room; }
  [[nodiscard]] std::size_t landing_bytes() const noexcept override { return 4; }
  void stop() noexcept override { is_ended = true; }
  void end_connections_with(int rank, SessionDevice& device) noexcept override {
    ended_with.push_back(rank);
    pass_on(device);
  }
  void drive(SessionDevice& device) noexcept override {
    ++drives;
    if (on_drive) on_drive(device);
    pass_on(device);
  }
  [[nodiscard]] Unsent unsent(const Link&) const noexcept override { return unsent_bytes; }
  [[nodiscard]] bool is_carrying() const noexcept override { return carries; }
  [[nodiscard]] bool notices_end_of(const Link&) const noexcept override { return notices_ends; }
  [[nodiscard]] bool is_reaching(const Link&) const noexcept override { return is_reaching_peers; }
  [[nodiscard]] bool outlives_sender() const noexcept override { return outlives; }
  [[nodiscard]] ReceiveBuffers& buffers() noexcept override { return memory; }
  [[nodiscard]] int wait_descriptor() const noexcept override { return descriptor; }
  [[nodiscard]] std::chrono::nanoseconds longest_sleep() const noexcept override { return sleep_limit; }
  [[nodiscard]] bool may_sleep() noexcept override { return sleeps; }
  void prepare_sleep() noexcept override { ++prepared; }

  void set_frames(std::size_t count) { frames_ = count; }

 private:
  Sent take(Transmitted message) {
    if (is_broken.contains(message.header.kind)) return Sent::never;
    if (!has_room || refused.contains(message.header.kind)) return Sent::later;
    sent.push_back(std::move(message));
    return Sent::yes;
  }
  void pass_on(SessionDevice& device) {
    for (ReceivedMessage* each : std::exchange(arriving_, {})) device.accept(*each);
  }

  std::vector<ReceivedMessage*> arriving_;
  std::deque<std::vector<std::byte>> room_;
  std::size_t frames_ = 4;
};

}  // namespace weft::network::session::test
