// Completion objects that are signalled inside a post.
//
// A handler may post, and its operations may end at once, so that their handler runs inside the first one,
// and so on. Such signals nest kDepth deep on a thread; further ones are stored and signalled by the next
// progress of their device. So a chain of operations that all end at once needs a bounded stack, and no
// signal is lost.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/network.hpp"

#include <weft/completion/completion.hpp>
#include <weft/message.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::core {

class ImmediateCompletions;

/// The time that the current thread spends in a call that signals completion objects: progress of a device,
/// or a signal from anywhere else. Lives on the stack of that call. Refused posts from inside go to the
/// backlog, and progress of a device that the thread is inside of returns at once.
class SignalScope {
 public:
  /// Marks the thread as inside progress of a device.
  explicit SignalScope(const ImmediateCompletions& device) noexcept : SignalScope(&device, innermost_, 0) {}
  /// Marks the thread as inside a signal without a device: its handlers may call progress of any device.
  SignalScope() noexcept : SignalScope(nullptr, innermost_, 0) {}
  ~SignalScope() { innermost_ = outer_; }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  [[nodiscard]] bool is_outermost() const noexcept { return outer_ == nullptr; }
  [[nodiscard]] static bool is_inside() noexcept { return innermost_ != nullptr; }
  [[nodiscard]] static bool is_inside(const ImmediateCompletions& device) noexcept {
    for (const SignalScope* scope = innermost_; scope != nullptr; scope = scope->outer_)
      if (scope->device_ == &device) return true;
    return false;
  }

 private:
  friend class ImmediateCompletions;
  SignalScope(const ImmediateCompletions* device, SignalScope* outer, std::uint32_t deeper) noexcept
      : device_(device), outer_(outer), depth_((outer != nullptr ? outer->depth_ : 0) + deeper) {
    innermost_ = this;
  }

  // constinit: tells every translation unit that no dynamic initialisation is needed.
  static constinit thread_local SignalScope* innermost_;

  const ImmediateCompletions* const device_;
  SignalScope* const outer_;
  const std::uint32_t depth_;  // depth of signals on this thread that posts have caused inside each other
};

/// Signals, for one device, the completion objects of operations that end while they are posted, or outside
/// of progress. Any thread posts; one at a time delivers stored signals.
class ImmediateCompletions {
 public:
  /// The maximum depth of nested signals. Each level is a post, a signal, and what the program's handler
  /// needs itself.
  static constexpr std::uint32_t kDepth = 4;

  /// `device_number`: the number of its device in the process.
  explicit ImmediateCompletions(network::Port& port, std::uint32_t device_number = 0);
  ~ImmediateCompletions();
  ImmediateCompletions(const ImmediateCompletions&) = delete;
  ImmediateCompletions& operator=(const ImmediateCompletions&) = delete;

  /// Signals now or, on a thread that is kDepth deep in such signals already, in the next deliver(). The
  /// payload of `message` is a view into memory of the operation's poster, or there is none.
  void signal(Completion& completion, Message& message) noexcept {
    SignalScope* const outer = SignalScope::innermost_;
    if (outer != nullptr && outer->depth_ >= kDepth) [[unlikely]]
      return keep(completion, message);
    const SignalScope scope(this, outer, 1);
    completion.signal(message);
  }
  /// The counter is raised while signals are stored, for threads that check for work.
  void set_working(std::atomic<std::uint32_t>& working) noexcept { working_ = &working; }
  /// The number of stored signals.
  [[nodiscard]] std::uint32_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  /// Signals the objects whose signals were stored before the call; signals that follow from these may be
  /// stored for the next call. Returns the number of signals. One thread at a time, inside progress of the
  /// device.
  std::size_t deliver() noexcept;
  /// The object is being destroyed: signals stored for it are dropped. Only for the thread that may call
  /// deliver(), also from inside that.
  void forget_object(const Completion& object) noexcept;

 private:
  struct Record {
    Record* next = nullptr;
    Completion* completion = nullptr;
    Message message;
  };
  static constexpr std::size_t kRecords = 64;  // further ones are allocated and reused

  [[gnu::cold, gnu::noinline]] void keep(Completion& completion, Message& message) noexcept;
  [[nodiscard]] Record* take() noexcept;
  void release(Record& first) noexcept;
  [[nodiscard]] bool is_allocated(const Record& record) const noexcept;

  network::Port& port_;
  const std::uint32_t device_number_;
  std::atomic<std::uint32_t>* working_ = nullptr;
  const std::unique_ptr<Record[]> records_;
  std::atomic<Record*> free_{nullptr};
  std::atomic<std::uint32_t> kept_{0};
  concurrent::MpscList<Record> list_;
  Record* under_way_ = nullptr;  // the records that deliver() has taken from the list
};

}  // namespace weft::core
