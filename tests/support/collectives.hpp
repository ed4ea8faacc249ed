// Collectives of all ranks of a job, and what they shall yield.
#pragma once

#include "support/ranks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {

/// A Collective for every rank, and a thread for each while run() lasts.
class CollectiveJob {
 public:
  explicit CollectiveJob(int count, std::vector<AttributeSetting> attributes = {})
      : ranks_(count, std::move(attributes)) {
    for (int rank = 0; rank < count; ++rank)
      collectives_.push_back(std::make_unique<Collective>(ranks_.runtime(rank), ranks_.endpoint(rank)));
  }
  ~CollectiveJob() { collectives_.clear(); }
  CollectiveJob(const CollectiveJob&) = delete;
  CollectiveJob& operator=(const CollectiveJob&) = delete;

  [[nodiscard]] Ranks<Endpoint>& ranks() noexcept { return ranks_; }
  [[nodiscard]] Collective& at(int rank) { return *collectives_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const noexcept { return ranks_.size(); }
  [[nodiscard]] bool is_sim() { return std::string_view(ranks_.runtime(0).network()) == "sim"; }

  /// Calls `work(collective, rank)` in a thread per rank. Ranks that are done progress until all are.
  void run(const std::function<void(Collective&, int)>& work) {
    std::atomic<int> running{size()};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        work(at(rank), rank);
        --running;
        while (running.load() != 0)
          if (ranks_.endpoint(rank).progress() == 0) std::this_thread::yield();
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  Ranks<Endpoint> ranks_;
  std::vector<std::unique_ptr<Collective>> collectives_;
};

inline std::uint64_t element(int rank, std::size_t index, std::uint64_t salt) {
  return (static_cast<std::uint64_t>(rank) + 3) * 0x9e3779b97f4a7c15 + index * 0x2545f4914f6cdd1d + salt;
}

inline std::vector<std::uint64_t> elements(int rank, std::size_t count, std::uint64_t salt) {
  std::vector<std::uint64_t> result(count);
  for (std::size_t index = 0; index < count; ++index) result[index] = element(rank, index, salt);
  return result;
}

inline std::vector<std::uint64_t> sums(int ranks, std::size_t count, std::uint64_t salt) {
  std::vector<std::uint64_t> result(count);
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t index = 0; index < count; ++index) result[index] += element(rank, index, salt);
  return result;
}

}  // namespace weft::test
