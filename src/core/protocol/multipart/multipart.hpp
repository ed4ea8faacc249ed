// Multipart active messages, of a head and parts: the head arrives at once, and the receiver supplies the
// buffers of the parts after it has read the head.
//
// On the wire the parts are one large message, whose source is a list of buffers at the sender and whose
// target is one at the receiver. The RTS carries the front: the size of each part, and the head; a front that
// does not fit into a packet is a large message too, fetched before the message is delivered.
//
// Sources: send.cpp, receive.cpp.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>
#include <weft/types.hpp>

#include <memory>
#include <span>

namespace weft::core {

class DetachedOperations;

class MultipartMessages {
 public:
  MultipartMessages(const Context& context, Rendezvous& large_messages);
  /// Messages that are still with their receivers lose their parts.
  ~MultipartMessages();
  MultipartMessages(const MultipartMessages&) = delete;
  MultipartMessages& operator=(const MultipartMessages&) = delete;

  /// A message of this rank, with checked arguments; there is at least one part.
  struct Outbound {
    int peer;
    RemoteCompletion remote;
    Bytes head;
    std::span<const Bytes> parts;
    std::size_t parts_size;  // sum of their sizes
    const ActiveMessageOptions& options;
  };
  /// One attempt to send. When refused, `refusal` is the reason, or `has_left` says that the peer has left.
  Rendezvous::Start start(const Outbound& outbound, Caller caller, Status& refusal, bool& has_left) noexcept;

  /// Arrival of an RTS. Returns false when the message cannot be accepted now.
  bool on_rts(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

  /// Returns true when the message has parts that can be received. Any thread, any device.
  [[nodiscard]] static bool has_parts(const Message& message) noexcept {
    return message.operation() == Operation::multipart_message && message.is_owner();
  }
  /// Receives the parts of a message, which becomes empty, into as many buffers. Any thread, whichever device
  /// the message arrived on. Returns false, without effect, when that device is closed.
  static bool receive(Message& message, std::span<const std::span<std::byte>> buffers, Completion& completion,
                      void* user_data) noexcept;

  /// Continues the messages whose receivers have decided about the parts. One thread at a time; has_work() of
  /// the large messages counts this work too. Returns the number of steps that made progress.
  std::size_t step() noexcept;

  /// Returns true when parts are being received, whose end may signal the object.
  [[nodiscard]] bool may_name(const Completion& /*object*/) const noexcept {
    return claimed_.load(std::memory_order_relaxed) != 0;
  }
  /// The object is being destroyed: parts that name it signal `instead`. Only for the thread that may call
  /// step().
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;

 private:
  struct Arrival;  // a message of a peer
  class Home;      // the device as its arrivals see it
  struct Ends;     // the completion objects of the large messages

  [[nodiscard]] Status announce(const Outbound& outbound, const MultipartRts& rts, const std::byte* copy,
                                Caller caller, bool& has_left) noexcept;
  void front_arrived(Arrival& arrival, Outcome outcome) noexcept;
  void parts_arrived(Arrival& arrival, Outcome outcome) noexcept;
  void deliver(Arrival& arrival) noexcept;
  void add_decided(Arrival& arrival) noexcept;
  Step begin(Arrival& arrival) noexcept;

  const Context& context_;
  Rendezvous& rendezvous_;
  Home* const home_;
  const std::unique_ptr<Ends> ends_;
  std::atomic<std::uint32_t> claimed_{0};  // arrivals whose parts are being received
  WorkList<Arrival> decided_;
};

}  // namespace weft::core
