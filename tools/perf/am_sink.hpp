#pragma once

#include <atomic>
#include <cstring>

#include "perf/content.hpp"
#include "perf/task.hpp"

namespace weft::tools::perf {

/// What a transport hands its arriving active messages to, one by one: in the thread that progresses it, or,
/// where threads share what they use, in any of them.
class AmSink {
 public:
  explicit AmSink(const Task& task) : verifies_(task.verify), size_(task.size) {}

  /// The payload is read here: it may be gone afterwards. Inlined into what the library calls, as a program's
  /// own few lines would be.
  [[gnu::always_inline]] inline void take(const void* payload, std::size_t size) {
    std::uint64_t word = 0;
    if (size >= sizeof word) std::memcpy(&word, payload, sizeof word);
    word_.store(word, std::memory_order_relaxed);
    if (verifies_) [[unlikely]]
      verify(payload, size, word);
    // Pairs with the acquire in count().
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  /// The first 8 bytes of the last one.
  [[nodiscard]] std::uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  /// What has come while it was verified.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  [[gnu::cold, gnu::noinline]] void verify(const void* payload, std::size_t size, std::uint64_t word) {
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    ledger_.add(size >= sizeof word ? number_of_word(word) : count, static_cast<const std::byte*>(payload),
                size, size_);
  }

  const bool verifies_;
  const std::size_t size_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> word_{0};
  Ledger ledger_;  // the content tells the number; payloads too small for that are taken to come in order
};

}  // namespace weft::tools::perf
