// The nodes of a graph.
#pragma once

#include <weft/completion/completion.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

class Graph;

namespace detail {

struct GraphRun;
class GraphCompletions;
class NodeRefusals;

/// A node: a completion object of its own, signalled by the operation that it posts.
class WEFT_API GraphTask : public Completion {
 public:
  GraphTask() noexcept = default;
  ~GraphTask() override { retire(); }

  /// Begins the node's work. done: the work has ended, with outcome(); posted: signal() follows, or has been
  /// called already; retry: refused without effect.
  virtual Status fire() = 0;
  /// Returns the outcome of the node for the message that ended its operation.
  virtual Outcome judge(Message& message) { return message.outcome(); }
  /// The graph that the node stands for, if any.
  [[nodiscard]] virtual Graph* inner() noexcept { return nullptr; }

  void signal(Message& message) noexcept final;
  [[nodiscard]] bool ready() const noexcept final { return pending_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }

 protected:
  void set_outcome(Outcome outcome) noexcept { outcome_ = outcome; }

 private:
  friend class weft::Graph;
  friend struct GraphRun;
  friend class GraphTasks;

  Graph* graph_ = nullptr;
  GraphTask* next_ = nullptr;  // in a list of nodes that are ready, or refused
  GraphTask* const* successors_ = nullptr;
  std::uint32_t successor_count_ = 0;
  std::uint32_t predecessors_ = 0;
  std::uint32_t index_ = 0;
  std::uint32_t refused_in_ = 0;  // the thread that has tried the node; valid while it is refused
  // The device that refused the node; nullptr: its callable answered retry by itself.
  NodeRefusals* refused_by_ = nullptr;
  Outcome outcome_ = Outcome::ok;
  std::atomic<std::uint32_t> waiting_{0};  // predecessors that have not ended in this run
  // For a posted operation, counts its signal and the return of fire(). The node ends with the second of
  // them, so that a graph which has ended is not inside a callable of its own any more.
  std::atomic<std::uint32_t> pending_{0};
};

/// A node that posts an operation; `Judge` is called with the message that ends it.
template <class Post, class Judge>
class PostTask final : public GraphTask {
 public:
  PostTask(Post post, Judge judge) : post_(std::move(post)), judge_(std::move(judge)) {}
  Status fire() override { return post_(static_cast<Completion&>(*this)); }
  Outcome judge(Message& message) override {
    if constexpr (std::is_same_v<decltype(judge_(message)), Outcome>) {
      return judge_(message);
    } else {
      judge_(message);
      return message.outcome();
    }
  }

 private:
  Post post_;
  Judge judge_;
};

/// A node that calls a function, which returns nothing or an Outcome.
template <class Function>
class FunctionTask final : public GraphTask {
 public:
  explicit FunctionTask(Function function) : function_(std::move(function)) {}
  Status fire() override {
    if constexpr (std::is_same_v<decltype(function_()), Outcome>) {
      set_outcome(function_());
    } else {
      function_();
    }
    return Status::done();
  }

 private:
  Function function_;
};

}  // namespace detail
}  // namespace weft
