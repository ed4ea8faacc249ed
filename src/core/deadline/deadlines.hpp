// The operations of a device that have a deadline, or may be cancelled.
//
// Each operation has a node, which is its completion object and passes the message that ends it on to the
// user's completion object. Nodes tell when an operation is due; the runtime ends it by cancelling it where
// it is. So an operation ends once, by its own rules, whether its deadline passes or not.
//
// Any thread takes, arms and signals nodes. Nodes that were armed or have ended pass through a list to the
// heap of one thread at a time: the thread that works on what is not in a lane.
#pragma once

#include "concurrent/index_pool.hpp"
#include "concurrent/mpsc_list.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>

namespace weft::core {

/// A receive that waits in the backlog of a device, by the node that stands for it: until it is posted it has
/// no record in its engine. The engine of such a handle is none: this bit and the device.
inline constexpr std::uint16_t kQueuedReceive = 0x8000;
[[nodiscard]] constexpr ReceiveHandle queued_receive(const SendHandle& node) noexcept {
  return {node.index, node.generation, static_cast<std::uint16_t>(kQueuedReceive | node.device)};
}
[[nodiscard]] constexpr bool is_queued(const ReceiveHandle& handle) noexcept {
  return (handle.engine & kQueuedReceive) != 0;
}
[[nodiscard]] constexpr SendHandle node_of(const ReceiveHandle& queued) noexcept {
  return {queued.index, queued.generation, static_cast<std::uint32_t>(queued.engine & ~kQueuedReceive)};
}

class Deadlines {
 public:
  /// A time that is never reached.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// A time that has come: the clock shows none before. The distance from any time of the clock to it fits.
  static constexpr std::int64_t kNow = 0;

  /// The node of one operation, and its completion object.
  class alignas(64) Node final : public Completion {
   public:
    ~Node() override { set_unnamed(); }
    /// Passes the message on. The node may belong to another operation afterwards.
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override { return to().ready(); }

    /// The handle of a receive, filled by the thread that posts it.
    ReceiveHandle receive;
    /// Links the nodes that take_due() returned, for its caller.
    Node* next_due = nullptr;

   private:
    static constexpr int kGenerationShift = 32;
    friend class Deadlines;
    friend class concurrent::MpscList<Node>;
    Deadlines* owner_ = nullptr;
    [[nodiscard]] Completion& to() const noexcept { return *to_.load(std::memory_order_relaxed); }

    std::atomic<Completion*> to_{nullptr};  // atomic, because explanations read it; null: no operation
    Node* next = nullptr;                   // in the list
    std::int64_t time_ = 0;                 // when it is due
    std::int64_t pause_ = 0;                // until it is checked again, once it has been due
    std::uint32_t position_ = 0;            // in the heap, from 1; 0: none
    bool is_due_ = false;
    // generation(32) | kCancelled, kQueued, kEnded, kArmed: by its generation a handle names the operation
    std::atomic<std::uint64_t> word_{std::uint64_t{1} << kGenerationShift};
  };

  /// `limit`: operations at a time. Their memory is allocated with the first one.
  explicit Deadlines(std::uint32_t limit) noexcept : limit_(limit) {}
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // For threads that post operations. Times are those of base::now_ns().

  /// Returns a node for an operation that signals `to`, or nullptr when all are in use.
  [[nodiscard]] Node* take(Completion& to, std::int64_t time) noexcept;
  /// Releases the node of an operation that was not accepted, or has ended, without a signal.
  void release(Node& node) noexcept;
  /// Called when the operation was posted; it may have ended by now. Returns true when the node waits for its
  /// time.
  bool arm(Node& node) noexcept;
  /// Names the operation of a node that is not armed yet, on this device, for cancel().
  [[nodiscard]] SendHandle handle_of(const Node& node, std::uint32_t device) const noexcept;

  // For any thread.

  /// The operation becomes due, and its end by timed_out one by cancelled. Returns false when it has ended.
  bool cancel(const SendHandle& handle) noexcept;

  /// Returns the node that a completion object is, or nullptr.
  [[nodiscard]] Node* node_of(const Completion* completion) const noexcept;
  /// Returns true when the completion object is the node of an operation that take_due() has returned.
  [[nodiscard]] bool is_due(const Completion* completion) const noexcept {
    const Node* node = node_of(completion);
    return node != nullptr && node->is_due_;
  }
  /// Returns the completion object behind a node in use, else the object itself: only to be shown, never
  /// dereferenced.
  [[nodiscard]] const Completion* behind(const Completion* completion) const noexcept {
    const Node* node = node_of(completion);
    return node != nullptr ? node->to_.load(std::memory_order_relaxed) : completion;
  }
  /// Returns true when an operation with a deadline may signal the object. Cheap while there are none.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: its nodes pass on to `instead`; calls each(node) for every one.
  template <class Each>
  void pass_on(const Completion& object, Completion& instead, const Each& each) noexcept {
    const Pool* pool = pool_.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; pool != nullptr && index < limit_; ++index) {
      Node& node = pool->nodes[index];
      Completion* expected = const_cast<Completion*>(&object);
      const std::uint64_t before = node.word_.load(std::memory_order_acquire);
      if (!node.to_.compare_exchange_strong(expected, &instead, std::memory_order_acq_rel)) continue;
      // One that is released meanwhile has ended.
      const std::uint64_t now = node.word_.load(std::memory_order_acquire);
      if ((now & kEnded) == 0 && now >> Node::kGenerationShift == before >> Node::kGenerationShift)
        each(node);
    }
  }
  /// Returns true when a completion object is a node that passes on to `instead`. Any thread.
  [[nodiscard]] bool passes_on(const Completion* completion, const Completion& instead) const noexcept {
    const Node* node = node_of(completion);
    return node != nullptr && node->to_.load(std::memory_order_relaxed) == &instead;
  }
  /// Returns true when the rest of the nodes is kept for operations that have a time.
  [[nodiscard]] bool keeps_rest() const noexcept { return count() >= (limit_ + 1) / 2; }
  /// The number of nodes in use.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// The time of the next check, as far as it is known; has_changed() tells of changes.
  [[nodiscard]] std::int64_t next_time() const noexcept { return next_time_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_changed() const noexcept { return !changed_.empty(); }

  // For one thread at a time.

  /// Takes in nodes that were armed or have ended. Returns the number of nodes that are free again.
  std::uint32_t update() noexcept;
  /// Returns the operations whose time has come, linked through next_due; nullptr: none.
  [[nodiscard]] Node* take_due(std::int64_t now) noexcept;
  /// The operations of take_due() that have not ended become due again: later each time, from a millisecond
  /// to a tenth of a second.
  void put_back(Node* first, std::int64_t now) noexcept;

 private:
  static constexpr std::uint64_t kArmed = 1;
  static constexpr std::uint64_t kEnded = 2;
  static constexpr std::uint64_t kQueued = 4;  // in changed_
  static constexpr std::uint64_t kCancelled = 8;

  struct Pool {
    explicit Pool(std::uint32_t limit) : free(limit), nodes(new Node[limit]), heap(new Node*[limit]) {}
    concurrent::IndexPool<> free;
    std::unique_ptr<Node[]> nodes;
    std::unique_ptr<Node*[]> heap;  // the first is due first
    std::size_t used = 0;           // of the heap
  };

  [[nodiscard]] Pool* pool() noexcept;
  void ended(Node& node) noexcept;
  void insert(Node& node) noexcept;
  void remove(Node& node) noexcept;
  void move(std::size_t position, Node& node) noexcept;

  const std::uint32_t limit_;
  std::mutex mutex_;  // guards making the pool
  std::unique_ptr<Pool> owned_pool_;
  std::atomic<Pool*> pool_{nullptr};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::int64_t> next_time_{kNever};
  concurrent::MpscList<Node> changed_;
};

}  // namespace weft::core
