#pragma once

#include <weft/detail/processor.hpp>

#include <atomic>
#include <cstring>

#include "perf/measure/forked_ranks.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// Memory that two processes share besides the memory that they access: one word in each direction, for
/// control.
struct RawShared {
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> full{0};
    std::uint64_t word = 0;
  };
  Cell cells[2];  // by the rank that reads it
};

/// The limit of puts, gets and atomics: stores, loads, memcpy and locked instructions in memory that both
/// processes have mapped.
class RawTransport {
 public:
  static constexpr bool kHasMatching = false;
  static constexpr bool kHasAccess = true;
  static constexpr bool kHasActiveMessages = false;

  RawTransport(int rank, RawShared& shared, ByteSpan memory)
      : rank_(rank), shared_(shared), memory_(memory) {}

  [[nodiscard]] int rank() const { return rank_; }
  void progress() {}

  // Control only: one word at a time.
  void post_receive(std::uint64_t, ByteSpan buffer) { arriving_ = buffer; }
  void wait_receives() {
    RawShared::Cell& cell = shared_.cells[rank_];
    // Pairs with the release in post_send().
    while (cell.full.load(std::memory_order_acquire) == 0) detail::cpu_pause();
    std::memcpy(arriving_.data(), &cell.word, sizeof cell.word);
    cell.full.store(0, std::memory_order_release);
  }
  void post_send(std::uint64_t, ByteView bytes) {
    RawShared::Cell& cell = shared_.cells[1 - rank_];
    // Pairs with the release in wait_receives().
    while (cell.full.load(std::memory_order_acquire) != 0) detail::cpu_pause();
    std::memcpy(&cell.word, bytes.data(), sizeof cell.word);
    cell.full.store(1, std::memory_order_release);
  }
  void wait_sends() {}

  void expose(std::size_t) {}
  [[nodiscard]] ByteSpan memory() const { return memory_; }
  class Access {
   public:
    explicit Access(ByteSpan memory) : memory_(memory) {}
    void post_put(std::size_t offset, ByteView bytes) {
      copy(memory_.data() + offset, bytes.data(), bytes.size());
    }
    void post_get(std::size_t offset, ByteSpan buffer) {
      copy(buffer.data(), memory_.data() + offset, buffer.size());
    }

   private:
    const ByteSpan memory_;
  };
  [[nodiscard]] Access access() const { return Access(memory_); }
  void post_add(std::size_t offset, std::uint64_t operand) { number(offset).fetch_add(operand); }
  void post_fetch_add(std::size_t offset, std::uint64_t operand, std::uint64_t& before) {
    before = number(offset).fetch_add(operand);
  }
  /// Keeps earlier writes from being delayed.
  void flush() { std::atomic_thread_fence(std::memory_order_seq_cst); }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> number(std::size_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_.data() + offset));
  }
  static void copy(std::byte* to, const std::byte* from, std::size_t size) {
    if (size == sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, from, sizeof word);
      std::memcpy(to, &word, sizeof word);
    } else {
      std::memcpy(to, from, size);
    }
    // Makes every access happen: the compiler must not join or leave out any.
    asm volatile("" : : "r"(to), "r"(from) : "memory");
  }

  const int rank_;
  RawShared& shared_;
  const ByteSpan memory_;
  ByteSpan arriving_;
};

}  // namespace weft::tools::perf
