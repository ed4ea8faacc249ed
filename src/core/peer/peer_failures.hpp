// The ranks that have left: failed, which means ended without leaving the job, or left in order.
//
// The bootstrap, through its launcher, or the network itself counts the ranks that have left in a word that
// every progress call reads. What follows is in core/device/parts/device_failures.hpp. Programs are notified
// of failures only.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"

#include <weft/completion/completion.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::core {

class PeerFailures {
 public:
  PeerFailures(bootstrap::Bootstrap& bootstrap, network::Network& network);

  /// The word is not 0 once a rank has left, and changes with every one. Lives as long as the runtime.
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return *word_; }

  /// Returns true when the network or the launcher of the job reports ranks that leave.
  [[nodiscard]] bool are_reported() const noexcept;
  /// Finds the ranks that have left since the last call, informs the network, and signals the watchers.
  /// Returns false when another thread is doing that.
  bool update() noexcept;

  /// The ranks that have failed, as update() has found them, in its order. Any thread.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] int at(std::size_t index) const noexcept {
    return order_[index].load(std::memory_order_relaxed);
  }
  /// All ranks that have left, failed or in order, as update() has found them. Any thread.
  [[nodiscard]] std::size_t left_count() const noexcept {
    return left_count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] int left_at(std::size_t index) const noexcept {
    return left_order_[index].load(std::memory_order_relaxed);
  }

  /// Returns true when the rank has failed, whether or not update() has found it yet. Any thread.
  [[nodiscard]] bool knows(int rank) const noexcept;

  /// Returns true when everything that had arrived from a rank that has left has been delivered, so that
  /// nothing more will arrive.
  [[nodiscard]] bool is_silent(int rank) const noexcept {
    return states_[rank].load(std::memory_order_acquire) >= State::silent_failed;
  }
  /// The number of silent ranks, and of those that have failed.
  [[nodiscard]] std::uint32_t silent() const noexcept { return silent_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t silent_failed() const noexcept {
    return silent_failed_.load(std::memory_order_acquire);
  }
  /// Returns true when all ranks but this one are silent, and there are others, and this rank does not send
  /// to itself: then no rank could match a receive that does not name this rank.
  [[nodiscard]] bool is_alone() const noexcept {
    return ranks_ > 1 && silent() + 1 == static_cast<std::uint32_t>(ranks_) &&
           !network_.has_contacted_itself();
  }
  void set_silent(int rank) noexcept;

  /// The object is signalled for every failed rank, once for each that failed before. Any thread; waits for
  /// signals in progress.
  void watch(Completion& completion);
  void unwatch(Completion& completion) noexcept;
  /// Returns true when the object may be a watcher. Any thread; never waits.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept {
    if (watching_.load(std::memory_order_relaxed) > known_.size()) return true;
    for (const auto& known : known_)
      if (known.load(std::memory_order_relaxed) == &object) return true;
    return false;
  }

 private:
  enum class State : std::uint8_t { sound, failed, left, silent_failed, silent_left };

  [[nodiscard]] bool has_left(int rank) const noexcept;
  struct Watcher {
    Completion* completion;
    std::size_t notified;  // number of failures that it was notified of
  };

  void notify_watchers() noexcept;
  void show_watchers() noexcept;

  bootstrap::Bootstrap& bootstrap_;
  network::Network& network_;
  const std::atomic<std::uint32_t>* word_;
  const int ranks_;
  const std::unique_ptr<std::atomic<State>[]> states_;
  const std::unique_ptr<std::atomic<int>[]> order_;       // ranks that have failed
  const std::unique_ptr<std::atomic<int>[]> left_order_;  // all ranks that have left
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> left_count_{0};
  std::atomic<std::uint32_t> silent_{0};
  std::atomic<std::uint32_t> silent_failed_{0};
  // Recursive, because a watcher may add or remove watchers. Only tried where messages move.
  std::recursive_mutex mutex_;
  std::vector<Watcher> watchers_;
  bool is_notifying_ = false;
  // The first watchers, for may_name().
  std::array<std::atomic<const Completion*>, 4> known_{};
  std::atomic<std::size_t> watching_{0};
};

}  // namespace weft::core
