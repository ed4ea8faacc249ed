// A connection between processes of the launcher on two hosts: whole frames, in order, without waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "bootstrap/arriving_bytes.hpp"
#include "sockets/sealed_stream.hpp"

namespace weft::bootstrap::relay {

/// Begins every frame; `length` bytes follow.
struct FrameHeader {
  std::uint32_t kind = 0;  // what it means is up to the two ends
  std::uint32_t stream = 0;
  std::int32_t argument = 0;
  std::uint32_t length = 0;
};
static_assert(sizeof(FrameHeader) == 16);

class FrameLink {
 public:
  /// The socket does not block. Throws std::bad_alloc.
  FrameLink(sockets::Greeted connection, std::size_t longest_frame);

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Returns true while frames wait for the socket to take more: then POLLOUT is to be waited for as well.
  [[nodiscard]] bool wants_room() const noexcept { return !outgoing_.empty() || stream_.has_kept(); }
  /// The connection is lost; nothing is sent or received any more.
  [[nodiscard]] bool has_ended() const noexcept { return !why_ended_.empty(); }
  [[nodiscard]] const std::string& why_ended() const noexcept { return why_ended_; }
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return waiting_; }

  /// From now on look_after() ends the connection when the other end owes an answer for this long.
  void watch(double peer_timeout_seconds) noexcept { peer_timeout_ = peer_timeout_seconds; }
  /// Returns milliseconds after which it is to be called again, whatever comes; negative: none, as nothing is
  /// owed. A full connection to a process that is stopped does not end: its host answers.
  int look_after();

  void send(FrameHeader header, std::span<const std::byte> first = {},
            std::span<const std::byte> second = {});
  void flush();
  /// Reads what has come, and calls `use` with each whole frame until there is none, `use` returns false, or
  /// the connection has ended.
  using Use = std::function<bool(const FrameHeader& header, std::vector<std::byte>& payload)>;
  void receive(const Use& use);
  void end(std::string why);

 private:
  void flush_frames();

  base::Descriptor socket_;
  sockets::SealedStream stream_;
  const std::size_t longest_;
  std::deque<std::vector<std::byte>> outgoing_;
  std::size_t sent_ = 0;  // of the first
  std::size_t waiting_ = 0;
  FrameHeader header_;
  std::size_t received_ = 0;  // of the header
  ArrivingBytes payload_;
  std::string why_ended_;
  double peer_timeout_ = 0;  // 0: it is not watched
};

}  // namespace weft::bootstrap::relay
