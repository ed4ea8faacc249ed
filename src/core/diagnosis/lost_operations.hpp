// Operations that end while a device is being closed because their peers have left or failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace weft::core {

/// Counts such operations by peer and kind, from open() on. Before that nothing is counted, because the
/// poster is notified then.
class LostOperations {
 public:
  void open() noexcept { is_open_.store(true, std::memory_order_relaxed); }
  /// `what`: static text such as "large message". Any thread.
  void add(int peer, const char* what, std::uint64_t count = 1) noexcept {
    if (!is_open_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    try {
      counts_[peer][what] += count;
    } catch (const std::bad_alloc&) {
      // Then this loss is not reported.
    }
  }
  /// Calls `visit(peer, text)` for every peer, in order, with a text such as "2 large messages, 1 put".
  template <class Visit>
  void for_each(const Visit& visit) {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, kinds] : counts_) {
      std::string text;
      for (const auto& [what, count] : kinds)
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what + (count == 1 ? "" : "s");
      visit(peer, text);
    }
  }

 private:
  std::atomic<bool> is_open_{false};
  std::mutex mutex_;
  std::map<int, std::map<std::string, std::uint64_t>> counts_;
};

}  // namespace weft::core
