// Received messages, in buffers of a transport.
#pragma once

#include <weft/message.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::network::session {

struct Link;

/// A buffer with a received message. Transports derive their buffers from it.
struct ReceivedMessage {
  ReceivedMessage* next = nullptr;
  Link* link = nullptr;  // to the sender; set when the message has been accepted
  std::byte* bytes = nullptr;
  std::size_t size = 0;         // of the message, header included
  std::size_t next_record = 0;  // of a frame: offset of the first message that is not delivered; else 0
  std::uint32_t messages = 1;   // in a frame: those that are not delivered
};

/// Owner of the buffers in which a transport receives. Each buffer can receive, or waits for its delivery, or
/// is held by a message that was kept.
class ReceiveBuffers : public detail::PayloadLender {
 public:
  /// Adds room for `count` further messages, of which `held` may be held by the program. One thread at a
  /// time. Throws weft::Error or std::bad_alloc.
  virtual void grow(std::uint32_t count, std::uint32_t held) = 0;
  /// Lets `count` further messages come, for which room is made when they come. As grow().
  virtual void allow(std::uint32_t count) { static_cast<void>(count); }
  /// Makes the buffer of a message that has been delivered, or was refused, free. Any thread.
  virtual void release(ReceivedMessage& message) noexcept = 0;
  /// Keeps payloads by copying them, for messages that share a buffer with others.
  [[nodiscard]] virtual detail::PayloadLender& copier() noexcept = 0;
  /// The cookie by which a delivered message names its buffer.
  [[nodiscard]] static std::uint64_t cookie_of(const ReceivedMessage& message) noexcept {
    return reinterpret_cast<std::uint64_t>(&message);
  }

 protected:
  ~ReceiveBuffers() = default;
};

}  // namespace weft::network::session
