// What a rank of the tests of peer failure keeps under way, and what its threads share.
#pragma once

#include "support/rank_program.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weft::failure_test {

inline constexpr std::size_t kBlock = 70'000;  // of a region, for each peer and device
inline constexpr std::uint64_t kLast = 1U << 30;
inline constexpr std::size_t kHead = 16;
inline constexpr std::uint64_t kWithParts = 5;  // every so manieth active message has parts
inline constexpr int kEnds = 5;                 // of each operation, towards the dead: every form of it
inline constexpr std::array<std::size_t, 8> kSizes = {16, 40, 48, 100, 1'000, 8'000, 50'000, 300'000};

enum class Kind : std::uint8_t { active_message, send, receive, put, get, atomic };
inline constexpr std::array kKinds = {
    Kind::active_message, Kind::active_message, Kind::active_message, Kind::send,
    Kind::send,           Kind::receive,        Kind::receive,        Kind::put,
    Kind::atomic};
inline constexpr const char* kNames[] = {"active message",  "send", "receive", "put", "get",
                                         "atomic operation"};

struct Header {
  std::uint32_t sender;
  std::uint32_t number;
};

inline std::size_t size_of(std::uint64_t number) { return kSizes[number % kSizes.size()]; }
inline MessageClass class_of(std::uint64_t number) { return static_cast<MessageClass>(number % 3); }
inline std::uint64_t seed_of(std::size_t rank, std::size_t device, std::uint64_t number) {
  return number * 1000 + rank * 10 + device;
}

/// One operation at a time towards one peer.
struct Slot final : Completion {
  ~Slot() override { withdraw(); }
  void signal(Message& message) noexcept override {
    length = message.size();
    outcome.store(static_cast<int>(message.outcome()), std::memory_order_release);
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return outcome.load(std::memory_order_acquire) >= 0; }

  Kind kind{};
  std::size_t peer = 0;
  bool is_under_way = false;
  std::uint64_t number = 0;
  std::size_t length = 0;
  std::atomic<int> outcome{-1};
  std::vector<std::byte> bytes;
  ReceiveHandle handle;
};

/// What the threads of a rank share.
struct Job {
  explicit Job(Runtime& joined) : runtime(joined), ranks(static_cast<std::size_t>(joined.size())) {
    runtime.on_peer_failure(watcher);
  }
  ~Job() { runtime.forget_peer_failures(watcher); }
  Runtime& runtime;
  const std::size_t ranks;
  std::atomic<int> victim{-1};
  std::atomic<int> told{0};
  Handler<std::function<void(Message&)>> watcher{[this](Message& message) {
    test::require(message.operation() == Operation::peer_failure && message.outcome() == Outcome::peer_failed,
                  "the failure is told in another way");
    victim.store(message.peer());
    told.fetch_add(1);
  }};
};

}  // namespace weft::failure_test
