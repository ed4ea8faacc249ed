// The records behind LargeMessages.
#pragma once

#include "core/memory/gather.hpp"
#include "core/protocol/large_message.hpp"

namespace weft::core {

/// The state of a request before; it was left only if that is announced.
template <class State>
State leave_announced(std::atomic<State>& state, State to) noexcept {
  for (;;) {
    auto before = State::announced;
    // end_lost_operations() leaves examined again, one way or the other.
    if (state.compare_exchange_weak(before, to, std::memory_order_acq_rel, std::memory_order_acquire) ||
        (before != State::announced && before != State::examined))
      return before;
  }
}

/// An own large message until its buffer is free again.
struct LargeMessages::Request {
  enum class State : std::uint8_t {
    free,
    announced,
    examined,  // while announced: a thread finds out whether the peer has left
    streaming,
    ended,
  };
  Request* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::uint32_t index = 0;
  std::atomic<int> peer{0};
  Operation operation = Operation::active_message_sent;
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MessageClass message_class = MessageClass::normal;
  GatherList gather;         // what travels, unless empty, instead of data
  std::uint16_t engine = 0;  // of a send
  bool needs_all_ranks = false;
  // while streaming:
  RequestName transfer{};
  std::uint8_t transfer_device = 0;     // of the peer; before, where it was announced to
  std::size_t wanted = 0;               // the peer has room for so much ...
  std::atomic<std::size_t> granted{0};  // ... and takes so much of it now
  std::size_t sent = 0;
  Packet packet;  // filled but not accepted by the network yet
  std::size_t packet_size = 0;
};

/// A large message of a peer until it is delivered and answered.
struct LargeMessages::Incoming {
  enum class State : std::uint8_t {
    free,
    needs_memory,
    reading,
    asking,
    receiving,
    entered,  // while receiving: a thread is handling a chunk, or ends what a lost peer has begun
    answering,
    forgotten,  // withdrawn by the sender, who is to be told
  };
  Incoming* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::atomic<std::uint32_t> withdrawn{0};  // the generation whose sender has asked to forget it
  std::uint32_t index = 0;
  std::atomic<int> peer{0};  // atomic, because end_lost_operations() looks at transfers of other threads
  LargeMessage announcement{};
  std::uint64_t word = 0;  // of an active message: its handle and tag
  std::size_t wanted = 0;  // how much of the payload has room
  std::byte* buffer = nullptr;
  PayloadOwner* owner = nullptr;  // of an active message's buffer
  bool is_receive = false;        // what follows is of a receive; its completion may be none
  std::uint64_t tag = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  std::span<const ScatterPart> parts;  // where the payload goes, unless empty, instead of to buffer
  std::size_t read = 0;
  std::atomic<std::size_t> granted{0};  // the sender was told to send so much; less than wanted: in Grants
  std::atomic<std::size_t> received{0};

  [[nodiscard]] MessageClass message_class() const noexcept {
    return static_cast<MessageClass>(announcement.message_class);
  }
};

/// What one peer may stream to this device: so many bytes at a time that they stay in the caches of both
/// sides, given to its transfers one after the other.
struct LargeMessages::Grants {
  Grants* next = nullptr;
  std::atomic<std::int64_t> under_way{0};  // bytes granted and not received
  std::atomic<std::uint32_t> busy{0};      // try-lock of what follows
  std::atomic<bool> is_listed{false};      // in granting_; written with the lock
  Incoming* first = nullptr;               // transfers that have not been granted all, through Incoming::next
  Incoming* last = nullptr;
};

template <class Visit>
void LargeMessages::visit_fetches(const Completion& completion, const Visit& visit) noexcept {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Incoming& incoming = incoming_[index];
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state != Incoming::State::free && state != Incoming::State::answering && incoming.is_receive &&
        incoming.completion == &completion)
      visit(incoming.user_data);
  }
}

inline LargeMessages::Grants& LargeMessages::grants_of(const Incoming& incoming) noexcept {
  return grants_[static_cast<std::size_t>(incoming.peer.load(std::memory_order_relaxed))];
}

}  // namespace weft::core
