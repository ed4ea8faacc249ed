// Workers that one thread runs step by step, in an order that a seed decides.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::parcel {

class WorkerPool;
struct Worker;

/// Runs the workers of the pools that are made with it, which start no threads: which worker is next, which
/// task it takes, and whether a task that could go on is left at a wait, are chosen by the seed. Equal seeds
/// and equal programs give equal schedules, as long as nothing depends on a clock. One thread.
class Stepper {
 public:
  explicit Stepper(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}

  /// Steps until `is_done()`. False: it was not done after so many steps.
  [[nodiscard]] bool run_until(const std::function<bool()>& is_done, std::uint64_t most_steps);
  /// 0 to choices - 1; and notes the choice in digest().
  [[nodiscard]] std::uint32_t choose(std::uint32_t choices) noexcept;
  /// Of all choices so far: equal after equal schedules.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

 private:
  friend class WorkerPool;
  std::uint64_t state_;
  std::uint64_t digest_ = 0;
  std::vector<WorkerPool*> pools_;
};

}  // namespace weft::parcel
