// A queue without bound from one thread to another.
#pragma once

#include <atomic>
#include <utility>

namespace weft::concurrent {

/// One thread pushes, another one pops; neither waits. Nodes are used again by the thread that pushes, so
/// that it allocates only while the queue is longer than ever before. The atomic type is a parameter so that
/// tests can drive schedules.
template <class Value, template <class> class Atomic = std::atomic>
class SpscQueue {
 public:
  SpscQueue() : newest_(new Node), first_(newest_), head_seen_(newest_), head_(newest_) {}
  ~SpscQueue() {
    for (Node* node = first_; node != nullptr;)
      delete std::exchange(node, node->next.load(std::memory_order_relaxed));
  }
  SpscQueue(const SpscQueue&) = delete;
  SpscQueue& operator=(const SpscQueue&) = delete;

  // The thread that pushes.

  void push(Value value) {
    Node* const node = take_node();
    node->value = std::move(value);
    node->next.store(nullptr, std::memory_order_relaxed);
    // Pairs with the acquire in front().
    newest_->next.store(node, std::memory_order_release);
    newest_ = node;
  }

  // The thread that pops.

  /// The oldest value, or nullptr.
  [[nodiscard]] Value* front() noexcept {
    Node* const next = head_.load(std::memory_order_relaxed)->next.load(std::memory_order_acquire);
    return next == nullptr ? nullptr : &next->value;
  }
  /// Removes the value of front(), which must not be nullptr.
  void pop() noexcept {
    // Pairs with the acquire in take_node(): the value has been used.
    head_.store(head_.load(std::memory_order_relaxed)->next.load(std::memory_order_relaxed),
                std::memory_order_release);
  }

 private:
  struct Node {
    Atomic<Node*> next{nullptr};
    Value value{};
  };

  [[nodiscard]] Node* take_node() {
    if (first_ == head_seen_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (first_ == head_seen_) return new Node;
    }
    return std::exchange(first_, first_->next.load(std::memory_order_relaxed));
  }

  // Of the thread that pushes: the nodes from first_ to before head_seen_ may be used again.
  Node* newest_;
  Node* first_;
  Node* head_seen_;
  alignas(64) Atomic<Node*> head_;  // the node before the oldest value; written by the thread that pops
};

}  // namespace weft::concurrent
