// The records of Rendezvous: requests of the sender, transfers of the receiver.
#pragma once

#include "core/memory/gather.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/rendezvous/request_state.hpp"

#include <array>

namespace weft::core {

/// The order in which payloads move: control before normal before bulk.
inline constexpr std::size_t kUrgencies = 3;
[[nodiscard]] constexpr std::size_t urgency_of(MessageClass message_class) noexcept {
  return message_class == MessageClass::control ? 0 : message_class == MessageClass::normal ? 1 : 2;
}

/// A large message of this rank until its buffer is free again.
struct Rendezvous::Request {
  using State = BasicRequestState<>::State;
  Request* next = nullptr;
  BasicRequestState<> state;
  std::uint32_t index = 0;
  std::atomic<int> peer{0};
  Operation operation = Operation::active_message_sent;
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MessageClass message_class = MessageClass::normal;
  GatherList gather;         // the payload, unless empty, in place of data
  std::uint16_t engine = 0;  // of a send
  bool needs_all_ranks = false;
  network::Offer offer;  // of the payload to the peer; without a key when there is none
  // While streaming:
  RequestName transfer{};
  std::uint8_t transfer_device = 0;     // of the peer; before that, the device that got the RTS
  std::size_t wanted = 0;               // the peer has room for this many bytes ...
  std::atomic<std::size_t> granted{0};  // ... and accepts this many of them now
  std::size_t sent = 0;
  Packet packet;  // filled but not accepted by the network yet
  std::size_t packet_size = 0;
};

/// A request that hold_request() has found, and the state to be given to state.let_go(), or another one.
struct Rendezvous::HeldRequest {
  Request* request = nullptr;
  Request::State before = Request::State::free;
};

/// A large message of a peer until it is delivered and answered.
struct Rendezvous::Incoming {
  enum class State : std::uint8_t {
    free,
    waiting,       // an active message, until few enough bytes of its peer are in progress
    needs_memory,  // an active message whose allocator had no room when it was last asked
    reading,
    fetching,  // until the network accepts a fetch of the payload
    landing,   // the network writes the payload into the buffer
    landed,
    lost,  // its peer has left while it was landing
    asking,
    receiving,
    entered,  // while receiving: a thread handles a fragment, or ends a transfer whose peer has left
    answering,
    forgotten,  // cancelled by the sender, which has to be told
    refused,    // its allocator will never have room: the sender has to be told
  };
  Incoming* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::atomic<std::uint32_t> cancelled{0};  // the generation whose sender has cancelled it
  std::uint32_t index = 0;
  std::atomic<int> peer{0};  // atomic, because end_lost_operations() reads transfers of other threads
  Rts rts{};
  std::uint64_t word = 0;  // of an active message: its handle and tag
  std::size_t wanted = 0;  // number of payload bytes that have room
  std::byte* buffer = nullptr;
  PayloadOwner* owner = nullptr;  // of an active message's buffer
  bool is_receive = false;        // the members below belong to a receive; its completion may be null
  std::uint64_t tag = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  std::span<const ScatterPart> parts;  // where the payload goes, unless empty, in place of buffer
  std::size_t read = 0;
  bool is_learned = false;  // LearnedWays is told of its end; the two members below belong to that
  Way way = Way::copy;
  std::int64_t started = 0;             // when its payload began to move
  std::atomic<std::size_t> granted{0};  // bytes that may be sent so far; if less than wanted, in Grants
  std::atomic<std::size_t> received{0};

  [[nodiscard]] MessageClass message_class() const noexcept {
    return static_cast<MessageClass>(rts.message_class);
  }
};

/// Active messages of one peer: those that have a buffer and are being fetched, and those that wait for one.
/// As many get a buffer as keep a stream going; more would only take memory, and caches, from what the
/// program does with messages that have arrived.
struct Rendezvous::Admission {
  Admission* next = nullptr;
  /// Bytes that have a buffer and have not been received, by urgency_of().
  std::array<std::atomic<std::int64_t>, kUrgencies> fetching{};
  std::atomic<bool> must_look{false};  // a waiting message was cancelled, or its sender has left
  // Used by step() alone:
  bool is_listed = false;     // in admitting_
  Incoming* first = nullptr;  // waiting messages, through Incoming::next, by class and age
  Incoming* last = nullptr;
};

/// What one peer may stream to this device: few enough bytes at a time that they stay in the caches of both
/// sides, granted to its transfers one after the other.
struct Rendezvous::Grants {
  Grants* next = nullptr;
  std::atomic<std::int64_t> under_way{0};  // bytes granted and not received
  std::atomic<std::uint32_t> busy{0};      // try-lock of the members below
  std::atomic<bool> is_listed{false};      // in granting_; written with the lock
  Incoming* first = nullptr;               // transfers that are not fully granted, through Incoming::next
  Incoming* last = nullptr;
};

/// Adds a record to a list, behind those of its class and of more urgent ones.
template <class Incoming>
void line_up(Incoming*& first, Incoming*& last, Incoming& incoming) noexcept {
  const auto is_before = [own = urgency_of(incoming.message_class())](const Incoming& each) {
    return urgency_of(each.message_class()) <= own;
  };
  Incoming* before = nullptr;
  if (first != nullptr && is_before(*last))
    before = last;
  else
    for (Incoming* each = first; each != nullptr && is_before(*each); each = each->next) before = each;
  Incoming*& link = before == nullptr ? first : before->next;
  incoming.next = link;
  link = &incoming;
  if (incoming.next == nullptr) last = &incoming;
}

template <class Visit>
void Rendezvous::visit_fetches(const Completion& completion, const Visit& visit) noexcept {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Incoming& incoming = incoming_[index];
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state != Incoming::State::free && state != Incoming::State::answering && incoming.is_receive &&
        incoming.completion == &completion)
      visit(incoming.user_data);
  }
}

inline Rendezvous::Grants& Rendezvous::grants_of(const Incoming& incoming) noexcept {
  return grants_[static_cast<std::size_t>(incoming.peer.load(std::memory_order_relaxed))];
}

inline Rendezvous::Admission& Rendezvous::admission_of(const Incoming& incoming) noexcept {
  return admissions_[static_cast<std::size_t>(incoming.peer.load(std::memory_order_relaxed))];
}

/// Changes the number of bytes to be fetched for active messages that have a buffer.
inline void Rendezvous::change_fetching(const Incoming& incoming, std::int64_t change) noexcept {
  if (!incoming.is_receive)
    admission_of(incoming).fetching[urgency_of(incoming.message_class())].fetch_add(
        change, std::memory_order_relaxed);
}
inline void Rendezvous::less_to_fetch(const Incoming& incoming, std::size_t size) noexcept {
  change_fetching(incoming, -static_cast<std::int64_t>(size));
}

}  // namespace weft::core
