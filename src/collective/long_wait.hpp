// A wait of a collective, which compares what ranks have called when it takes long, and ends in time.
#pragma once

#include <cstdint>
#include <span>

namespace weft::collective {

class CollectiveContext;

/// A thread waits in a run for messages of `peers`.
class LongWait {
 public:
  using IsReady = bool (*)(void* what) noexcept;
  LongWait(CollectiveContext& context, std::uint64_t number, std::span<const int> peers, IsReady is_ready,
           void* what) noexcept
      : context_(context), number_(number), peers_(peers), is_ready_(is_ready), what_(what) {}

  /// Looks: returns true when the wait is over. Asks the peers now and then what they have called.
  [[nodiscard]] bool is_over() noexcept;
  /// Returns true when the run cannot end.
  [[nodiscard]] bool differs() const noexcept { return differs_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::span<const int> peers() const noexcept { return peers_; }

 private:
  CollectiveContext& context_;
  const std::uint64_t number_;
  const std::span<const int> peers_;
  const IsReady is_ready_;
  void* const what_;
  bool differs_ = false;
  std::uint32_t looks_ = 0;
  std::uint32_t late_looks_ = 0;  // since the next question is due
  std::uint32_t asked_ = 0;
  std::int64_t asks_at_ = 0;  // the time of the next question, in nanoseconds
  std::int64_t pause_ = 0;
};

/// Nanoseconds of a steady clock.
[[nodiscard]] std::int64_t now_ns() noexcept;

}  // namespace weft::collective
