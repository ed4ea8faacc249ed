// Which ranks have failed: ended without leaving the job.
//
// Whoever learns first, the bootstrap by its launcher or the network by itself, counts the failure in a word
// that every progress call reads. What follows from one is in device_failures.cpp.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"

#include <weft/completion/completion.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::detail {

class PeerFailures {
 public:
  PeerFailures(bootstrap::Bootstrap& bootstrap, network::Network& network);

  /// Not 0 from the first failure on; changes with every one. Lives as long as the runtime.
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return *word_; }

  /// Finds out who has failed since the last call, tells the network, and signals the watchers. False:
  /// another thread is doing that.
  bool update() noexcept;

  /// The ranks that update() has found, in its order. Any thread.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] int at(std::size_t place) const noexcept {
    return order_[place].load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_failed(int rank) const noexcept {
    return states_[rank].load(std::memory_order_acquire) != State::sound;
  }

  /// Whether the rank has failed, found by update() or not yet. Any thread.
  [[nodiscard]] bool knows(int rank) const noexcept;

  /// Whether all that had arrived of a failed rank has been delivered, so that nothing will ever come.
  [[nodiscard]] bool is_silent(int rank) const noexcept {
    return states_[rank].load(std::memory_order_acquire) == State::silent;
  }
  /// How many of them there are.
  [[nodiscard]] std::uint32_t silent() const noexcept { return silent_.load(std::memory_order_acquire); }
  void set_silent(int rank) noexcept {
    auto failed = State::failed;
    if (states_[rank].compare_exchange_strong(failed, State::silent, std::memory_order_acq_rel))
      silent_.fetch_add(1, std::memory_order_release);
  }

  /// The object is signalled for every failed rank, once for each that failed before. Any thread; waits for
  /// signals that are under way.
  void watch(Completion& completion);
  void unwatch(Completion& completion) noexcept;

 private:
  enum class State : std::uint8_t { sound, failed, silent };

  void signal(Completion& completion, int rank) const noexcept;

  bootstrap::Bootstrap& bootstrap_;
  network::Network& network_;
  const std::atomic<std::uint32_t>* word_;
  const int ranks_;
  const std::unique_ptr<std::atomic<State>[]> states_;
  const std::unique_ptr<std::atomic<int>[]> order_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint32_t> silent_{0};
  // Recursive, because a watcher may stop watching. Only tried where messages move.
  std::recursive_mutex mutex_;
  std::vector<Completion*> watchers_;
};

}  // namespace weft::detail
