// Graph nodes whose posts were refused, and the progress calls that retry them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// What a device knows about graph nodes whose posts it has refused. Progress of the device that has refused
/// a node retries it, because only threads that use a device may post with it. A node whose callable returns
/// retry without a refused post is retried by progress of any device that is shared by threads, and by any
/// progress call of the thread that has tried it.
class NodeRefusals {
 public:
  /// Records that this device has refused a post of the calling thread.
  void note_refused_post() noexcept { last_ = this; }
  /// Forgets which device has refused the last post of this thread; last() returns that device.
  static void forget_last() noexcept { last_ = nullptr; }
  [[nodiscard]] static NodeRefusals* last() noexcept { return last_; }

  /// Returns true when this process has refused nodes: one load from a cache line that is not written while
  /// there are none.
  [[nodiscard]] static bool any() noexcept { return all_.load(std::memory_order_relaxed) != 0; }
  /// Retries some of the nodes of one graph that this device may retry; returns the number accepted. Called
  /// inside progress of the device; `exclusive`: only one thread uses it.
  [[nodiscard]] std::size_t retry(bool exclusive) noexcept;

 private:
  friend struct GraphRun;
  alignas(64) static std::atomic<std::uint32_t> all_;
  alignas(64) static std::atomic<std::uint32_t> by_nobody_;  // nodes refused by their own callables
  static thread_local NodeRefusals* last_;
  std::atomic<std::uint32_t> nodes_{0};  // refused by this device
};

}  // namespace weft::detail
