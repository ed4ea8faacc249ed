// The request of a one-sided access in progress.
#pragma once

#include "core/protocol/one_sided/one_sided_access.hpp"

#include <weft/packet.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

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
struct AccessRequest {
  AccessRequest* next = nullptr;
  std::atomic<std::uint64_t> word{std::uint64_t{1} << 32};
  std::uint32_t index = 0;
  std::uint8_t epoch = 0;
  bool from_handler = false;
  bool by_messages = false;
  bool signals = false;       // has ended, except for its signal
  bool is_signalled = false;  // the signal travels with the put
  Operation operation = Operation::put;
  std::atomic<int> peer{0};  // atomic, because complete_lost() reads requests of other threads
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

}  // namespace weft::core
