// Active messages with a head and bodies: the head arrives at once, and the receiver supplies the buffers of
// the bodies after it has read the head.
//
// On the wire the bodies are one large message, whose source is a list of buffers at the sender and whose
// target is one at the receiver. The announcement carries the front: how long each body is, and the head; a
// front that does not fit into a packet is a large message too, fetched before the message is delivered.
//
// Sources: vectored_message_send.cpp, vectored_message_receive.cpp.
#pragma once

#include "core/protocol/context.hpp"
#include "core/protocol/large_message.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>
#include <weft/types.hpp>

#include <memory>
#include <span>

namespace weft::core {

class VectoredMessages {
 public:
  VectoredMessages(const Context& context, LargeMessages& large_messages);
  /// Messages that their receivers still have lose their bodies.
  ~VectoredMessages();
  VectoredMessages(const VectoredMessages&) = delete;
  VectoredMessages& operator=(const VectoredMessages&) = delete;

  /// An own message, with arguments that have been checked; there is at least one body.
  struct Outbound {
    int peer;
    RemoteCompletion remote;
    Bytes head;
    std::span<const Bytes> bodies;
    std::size_t bodies_size;  // of all of them
    const ActiveMessageOptions& options;
  };
  /// One attempt. Refused: `refusal` says why, or that the peer has left.
  LargeMessages::Start start(const Outbound& outbound, bool exclusive, Status& refusal,
                             bool& is_gone) noexcept;

  /// Arrival of the channel. False: cannot be taken now.
  bool on_announcement(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

  /// Whether the message is one whose bodies can be received. Any thread, any device.
  [[nodiscard]] static bool has_bodies(const Message& message) noexcept {
    return message.operation() == Operation::vectored_message && message.is_owner();
  }
  /// Receives the bodies of a message, which becomes empty, into as many buffers. Any thread, whatever device
  /// the message has come to. False, without effect: that device is closed.
  static bool receive(Message& message, std::span<const std::span<std::byte>> buffers, Completion& completion,
                      void* user_data) noexcept;

  /// Continues what receivers have decided. One thread at a time; its work is counted with that of the large
  /// messages. Returns how many steps did something.
  std::size_t step() noexcept;

 private:
  struct Arrival;  // a message of a peer
  class Home;      // what an arrival knows of its device
  struct Ends;     // what the large messages signal

  [[nodiscard]] Status announce(const Outbound& outbound, const VectoredMessage& announcement, bool exclusive,
                                bool& is_gone) noexcept;
  void front_arrived(Arrival& arrival, Outcome outcome) noexcept;
  void bodies_arrived(Arrival& arrival, Outcome outcome) noexcept;
  void deliver(Arrival& arrival) noexcept;
  void add_decided(Arrival& arrival) noexcept;
  Step begin(Arrival& arrival) noexcept;

  const Context& context_;
  LargeMessages& large_messages_;
  Home* const home_;
  const std::unique_ptr<Ends> ends_;
  WorkList<Arrival> decided_;
};

}  // namespace weft::core
