// The operations of a device that have a deadline.
//
// Each has a node, which is the completion object of the operation and passes the message that ends it on to
// that of the user. Nodes say when an operation is due; to end it is for the runtime, which cancels it where
// it is. So an operation ends once, by its own rules, whether its deadline passes or not.
//
// Any thread takes and arms nodes and signals them. What is armed or has ended reaches, through an intake,
// the heap of one thread at a time: whoever works on what is not in a lane.
#pragma once

#include "concurrent/index_pool.hpp"
#include "concurrent/intake.hpp"

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

class Deadlines {
 public:
  /// A time that does not come.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// One operation; what it signals.
  class alignas(64) Node final : public Completion {
   public:
    ~Node() override { withdraw(); }
    /// Passes the message on. The node may be that of another operation afterwards.
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override { return to().ready(); }

    /// Of a receive, filled by whoever posts it.
    ReceiveHandle receive;
    /// Links what take_due() returned, for its caller.
    Node* next_due = nullptr;

   private:
    friend class Deadlines;
    friend class concurrent::Intake<Node>;
    Deadlines* owner_ = nullptr;
    [[nodiscard]] Completion& to() const noexcept { return *to_.load(std::memory_order_relaxed); }

    std::atomic<Completion*> to_{nullptr};  // atomic, because explanations ask for it
    Node* next = nullptr;                   // in the intake
    std::int64_t time_ = 0;                 // when it is due
    std::int64_t pause_ = 0;                // until it is looked at again, once it has been due
    std::uint32_t place_ = 0;               // in the heap, from 1; 0: none
    bool is_due_ = false;
    std::atomic<std::uint32_t> word_{0};
  };

  /// `limit`: operations at a time. Their memory is taken with the first.
  explicit Deadlines(std::uint32_t limit) noexcept : limit_(limit) {}
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // By whoever posts an operation. Times are those of base::now_ns().

  /// A node for an operation that signals `to`, or nullptr: all are in use.
  [[nodiscard]] Node* take(Completion& to, std::int64_t time) noexcept;
  /// The operation was not accepted, or has ended, without a signal.
  void give_back(Node& node) noexcept;
  /// The operation was posted; it may have ended by now. Whether the node waits for its time.
  bool arm(Node& node) noexcept;

  // By any thread.

  /// The node that a completion object is, or nullptr.
  [[nodiscard]] Node* node_of(const Completion* completion) const noexcept;
  /// Whether the completion object is the node of an operation that take_due() has returned.
  [[nodiscard]] bool is_due(const Completion* completion) const noexcept {
    const Node* node = node_of(completion);
    return node != nullptr && node->is_due_;
  }
  /// What a completion object stands for, if it is a node in use: only to be shown, never followed.
  [[nodiscard]] const Completion* behind(const Completion* completion) const noexcept {
    const Node* node = node_of(completion);
    return node != nullptr ? node->to_.load(std::memory_order_relaxed) : completion;
  }
  /// Nodes in use.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// When to look next, as far as that is known; changes come through has_changed().
  [[nodiscard]] std::int64_t next_time() const noexcept { return next_time_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_changed() const noexcept { return !changed_.empty(); }

  // By one thread at a time.

  /// Takes in what was armed and what has ended. Returns how many nodes are free again.
  std::uint32_t update() noexcept;
  /// The operations whose time has come, linked through next_due; nullptr: none.
  [[nodiscard]] Node* take_due(std::int64_t now) noexcept;
  /// Those of take_due() that have not ended become due again: later each time, from a millisecond to a tenth
  /// of a second.
  void put_back(Node* first, std::int64_t now) noexcept;

 private:
  static constexpr std::uint32_t kArmed = 1;
  static constexpr std::uint32_t kEnded = 2;
  static constexpr std::uint32_t kQueued = 4;  // in changed_

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
  void move(std::size_t place, Node& node) noexcept;

  const std::uint32_t limit_;
  std::mutex mutex_;  // guards making the pool
  std::unique_ptr<Pool> owned_pool_;
  std::atomic<Pool*> pool_{nullptr};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::int64_t> next_time_{kNever};
  concurrent::Intake<Node> changed_;
};

}  // namespace weft::core
