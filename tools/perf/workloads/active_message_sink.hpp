#pragma once

#include <atomic>
#include <cstring>

#include "perf/measure/payload_content.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Receives the active messages of a transport, one by one: in the thread that progresses it, or, when
/// threads share resources, in any of them.
class AmSink {
 public:
  /// `reads`: every payload is read to its end, as by a program that uses it.
  explicit AmSink(const Task& task, bool reads = false)
      : verifies_(task.verify), looks_inside_(task.verify || reads), size_(task.size) {}

  /// The payload is read here: it may be invalid afterwards. Inlined into the library's call, as a few lines
  /// of a program would be.
  [[gnu::always_inline]] inline void take(const void* payload, std::size_t size) {
    std::uint64_t word = 0;
    if (size >= sizeof word) std::memcpy(&word, payload, sizeof word);
    word_.store(word, std::memory_order_relaxed);
    if (looks_inside_) [[unlikely]]
      look_inside(payload, size, word);
    // Pairs with the acquire in count().
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  /// The first 8 bytes of the last message.
  [[nodiscard]] std::uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  /// The record of verified messages.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  [[gnu::cold, gnu::noinline]] void look_inside(const void* payload, std::size_t size, std::uint64_t word) {
    if (!verifies_) return read(static_cast<const std::byte*>(payload), size);
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    ledger_.add(size >= sizeof word ? number_of_word(word) : count, static_cast<const std::byte*>(payload),
                size, size_);
  }

  void read(const std::byte* payload, std::size_t size) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at + sizeof sum <= size; at += sizeof sum) {
      std::uint64_t word = 0;
      std::memcpy(&word, payload + at, sizeof word);
      sum += word;
    }
    word_.store(sum, std::memory_order_relaxed);
  }

  const bool verifies_;
  const bool looks_inside_;
  const std::size_t size_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> word_{0};
  Ledger ledger_;  // numbers come from the content; payloads too small for one are assumed in order
};

}  // namespace weft::tools::perf
