// The requests of OneSided, one for each access in progress.
#pragma once

#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/to_status.hpp"

namespace weft::core {

/// Messages up to this size are assembled on the stack of the thread that sends them.
inline constexpr std::size_t kStackMessage = 512;

/// The state of a request in one word, so that the threads that handle answers, send pieces, or find that the
/// peer has left agree on which of them ends the request: the one whose change leaves nothing in progress.
///
/// generation(32) | posting(1) | at_network(1) | refused(1) | lost(1) | expired(1) | busy(11) | pieces(16)
namespace request_word {

inline constexpr std::uint64_t kPosting = std::uint64_t{1} << 31;    // more pieces may be sent
inline constexpr std::uint64_t kAtNetwork = std::uint64_t{1} << 30;  // the network reports the end
inline constexpr std::uint64_t kRefused = std::uint64_t{1} << 29;
inline constexpr std::uint64_t kLost = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kExpired = std::uint64_t{1} << 27;
inline constexpr std::uint64_t kBusy = std::uint64_t{1} << 16;  // one thread that handles an answer
inline constexpr std::uint64_t kBusyMask = 0x7ff * kBusy;
inline constexpr std::uint64_t kPieces = 0xffff;
inline constexpr std::uint64_t kUnderWay = kPosting | kAtNetwork | kBusyMask | kPieces;

[[nodiscard]] constexpr std::uint32_t generation_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}
[[nodiscard]] constexpr Outcome outcome_of(std::uint64_t word) noexcept {
  return (word & kRefused) != 0   ? Outcome::refused
         : (word & kExpired) != 0 ? Outcome::timed_out
         : (word & kLost) != 0    ? Outcome::peer_failed
                                  : Outcome::ok;
}

/// Replaces the word by change(word) and returns the new value.
template <class Change>
std::uint64_t update(std::atomic<std::uint64_t>& word, const Change& change) noexcept {
  std::uint64_t before = word.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t after = change(before);
    // Acquire and release: the thread that ends the request sees the effects of all threads that took part in
    // it.
    if (word.compare_exchange_weak(before, after, std::memory_order_acq_rel, std::memory_order_relaxed))
      return after;
  }
}

}  // namespace request_word

/// An access of this rank until it has ended and its signal has been sent.
struct OneSided::Request {
  Request* next = nullptr;
  std::atomic<std::uint64_t> word{std::uint64_t{1} << 32};
  std::uint32_t index = 0;
  std::uint8_t epoch = 0;
  bool from_handler = false;
  bool by_messages = false;
  bool signals = false;       // has ended, except for its signal
  bool is_signalled = false;  // the signal travels with the put
  Operation operation = Operation::put;
  std::atomic<int> peer{0};  // atomic, because end_lost_operations() reads requests of other threads
  RemoteAddress where;
  std::byte* data = nullptr;
  std::size_t size = 0;
  AtomicUpdate update;
  AccessOptions options;
  Packet source;  // a source that was copied while it was in the backlog
  std::byte copy[PendingPost::kCopied];
  // While pieces are sent, by the poster, then by step():
  std::uint64_t sent = 0;
  std::uint64_t piece = 0;  // bytes of all pieces but the last
  Packet packet;            // a piece that the network has not accepted yet
  std::size_t packet_size = 0;

  [[nodiscard]] RequestName name() const noexcept {
    return {index, request_word::generation_of(word.load(std::memory_order_relaxed))};
  }
  [[nodiscard]] bool is_single() const noexcept { return size <= piece; }
};

/// An answer that still has to be sent to a peer.
struct OneSided::Answer {
  Answer* next = nullptr;
  std::uint32_t index = 0;
  int peer = 0;
  std::uint8_t device = 0;
  Channel channel = Channel::access_ended;
  RequestName request{};
  Outcome outcome = Outcome::ok;
  AccessPiece wanted{};    // of get_data
  std::uint64_t old = 0;   // of atomic_ended
  std::uint64_t word = 0;  // of put_signal: a signal of the peer, for an object that is not exposed yet
};

/// Calls send(outgoing), which sends to the target, or to the device that its signal names. Requests that
/// handlers post use the lane of answers when there is no room, so that handlers of two ranks cannot wait for
/// each other. `has_left` becomes true when the peer has left.
template <class Send>
Status OneSided::send_to_target(Request& request, Channel channel, bool carries_signal, Caller caller,
                                bool& has_left, const Send& send) noexcept {
  const AccessOptions& options = request.options;
  network::Outgoing outgoing{};
  outgoing.peer = request.where.region.rank;
  outgoing.device = carries_signal ? options.signal.device() : std::uint8_t{options.device};
  outgoing.traffic = network::TrafficClass::data;
  outgoing.channel = static_cast<std::uint8_t>(channel);
  outgoing.to_handle = carries_signal;
  outgoing.word = carries_signal ? detail::handle_word(options.signal, options.tag) : 0;
  outgoing.reserves_room = caller.reserves_room;
  request.is_signalled = carries_signal;
  network::SendResult result = send(outgoing);
  if (result == network::SendResult::no_slot && request.from_handler) {
    outgoing.traffic = network::TrafficClass::control;
    outgoing.reserves_room = false;
    result = send(outgoing);
  }
  has_left = result == network::SendResult::peer_left;
  return to_status(result);
}

}  // namespace weft::core
