// Parcels that a rank has sent, and that have run on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::parcel {

/// Counted by worker, so that nobody waits for anybody; worker number `workers` stands for all other threads
/// together. Any thread reads.
class Traffic {
 public:
  Traffic(unsigned workers, int ranks) : workers_(workers) {
    for (unsigned worker = 0; worker <= workers; ++worker)
      counts_.push_back(std::make_unique<OfWorker>(static_cast<std::size_t>(ranks)));
  }

  void sent(int rank, unsigned worker) noexcept { add(counts_[worker]->sent, rank, worker); }
  /// One that has come from the rank has run, or was refused.
  void finished(int source, unsigned worker) noexcept { add(counts_[worker]->finished, source, worker); }
  /// Parcels were lost here, and nobody knows how many.
  void lost_some() noexcept { unknown_.fetch_add(1, std::memory_order_release); }

  [[nodiscard]] std::uint64_t sent_to(int rank) const noexcept { return sum(&OfWorker::sent, rank); }
  [[nodiscard]] std::uint64_t finished_of(int source) const noexcept {
    return sum(&OfWorker::finished, source);
  }
  [[nodiscard]] std::uint64_t times_lost() const noexcept { return unknown_.load(std::memory_order_acquire); }

 private:
  using Counts = std::vector<std::atomic<std::uint64_t>>;

  struct OfWorker {
    explicit OfWorker(std::size_t ranks) : sent(ranks), finished(ranks) {}
    Counts sent;
    Counts finished;
  };

  void add(Counts& counts, int rank, unsigned worker) const noexcept {
    std::atomic<std::uint64_t>& count = counts[static_cast<std::size_t>(rank)];
    if (worker != workers_)
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    else
      count.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t sum(Counts OfWorker::*counts, int rank) const noexcept {
    std::uint64_t total = 0;
    for (const auto& worker : counts_)
      total += ((*worker).*counts)[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    return total;
  }

  const unsigned workers_;
  std::vector<std::unique_ptr<OfWorker>> counts_;
  std::atomic<std::uint64_t> unknown_{0};
};

}  // namespace weft::parcel
