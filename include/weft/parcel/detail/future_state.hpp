// What a promise and its future share.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/error.hpp>
#include <weft/parcel/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace weft::parcel {

/// A promise was destroyed before it had a value.
class WEFT_API BrokenPromise : public Error {
 public:
  BrokenPromise() : Error("the promise of this future was destroyed without a value") {}
};

/// A future or a promise was used in a way that can give no value: get() of a future that has none, a second
/// set() of a promise. what() names the call, and what would be right.
class WEFT_API FutureMisuse : public Error {
 public:
  using Error::Error;
};

/// Work was withdrawn before it had begun, or a wait was ended, by a std::stop_token.
class WEFT_API Cancelled : public Error {
 public:
  Cancelled() : Error("stop was requested before the value was there") {}
};

namespace detail {

/// Throws FutureMisuse for a call of a future that has no value to give (any more).
[[noreturn]] WEFT_API void throw_no_future(const char* call);
/// Throws FutureMisuse for a call of a promise. `what`: why it cannot be.
[[noreturn]] WEFT_API void throw_no_promise(const char* call, const char* what);
/// Runs the continuation in this thread: at once, or, when many have made each other ready, once their stack
/// is free again, so that chains of any length end. On a worker it becomes a task.
WEFT_API void run_in_turn(Task& continuation) noexcept;
/// Runs what run_in_turn() has put off, before this thread sleeps until something is ready.
WEFT_API void run_turns_before_sleep() noexcept;

/// What a future of void holds.
struct Nothing {};
template <class T>
using NotVoid = std::conditional_t<std::is_void_v<T>, Nothing, T>;

/// A task that waits for a future. `at_once`: it runs in the thread that makes the future ready.
struct Continuation : Task {
  explicit Continuation(Execute run, bool in_place = false) noexcept : Task(run), at_once(in_place) {}
  bool at_once;
};

template <class Function>
class FunctionContinuation final : public Continuation, public InTaskMemory {
 public:
  explicit FunctionContinuation(Function function) : Continuation(&run), function_(std::move(function)) {}

 private:
  static void run(Task& task) noexcept {
    auto& self = static_cast<FunctionContinuation&>(task);
    self.function_();
    delete &self;
  }
  Function function_;
};

template <class Function>
[[nodiscard]] Continuation& continuation(Function function) {
  return *new FunctionContinuation<Function>(std::move(function));
}

/// Readiness, error and continuations; counted by its references.
class WEFT_API FutureStateBase {
 public:
  explicit FutureStateBase(Scheduler* scheduler, std::uint32_t references = 1) noexcept
      : references_(references), scheduler_(scheduler) {}
  virtual ~FutureStateBase() = default;
  FutureStateBase(const FutureStateBase&) = delete;
  FutureStateBase& operator=(const FutureStateBase&) = delete;

  [[nodiscard]] bool ready() const noexcept {
    return waiting_.load(std::memory_order_acquire) == ready_mark();
  }
  /// Runs the continuation when the state is ready: as a task, or, where there is no scheduler, as
  /// run_in_turn() does.
  void when_ready(Continuation& continuation) noexcept;
  /// Waits as Future::wait() does.
  void wait(const std::source_location& where);
  /// The same, or returns false at the deadline.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline,
                                const std::source_location& where);
  /// The task that makes this ready before it ends, set before it is scheduled.
  void set_maker(Task& task) noexcept { maker_ = &task; }
  void set_exception(std::exception_ptr error) noexcept {
    error_ = std::move(error);
    make_ready();
  }
  [[nodiscard]] Scheduler* scheduler() const noexcept { return scheduler_; }
  /// Of a state that is ready: its exception, which is moved out; null when it has a value.
  [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }
  /// Of a state that is ready, from any number of threads: throws its exception, if it has one.
  void look_for_error() const {
    if (error_) std::rethrow_exception(error_);
  }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // Whoever has the last reference is alone with it.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

 protected:
  void make_ready() noexcept;
  /// The consumer takes the exception along: whoever drops the state last has nothing of it.
  void throw_error() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  /// Ends the list of a state that is ready; no continuation.
  [[nodiscard]] Task* ready_mark() const noexcept { return reinterpret_cast<Task*>(std::uintptr_t{1}); }
  void run(Continuation& continuation) noexcept;
  bool is_ready_after_its_task() noexcept;

  std::atomic<Task*> waiting_{nullptr};
  std::atomic<std::uint32_t> references_;
  Scheduler* scheduler_;
  Task* maker_ = nullptr;  // gone when this is ready
  std::exception_ptr error_;
};

template <class T>
class FutureState : public FutureStateBase, public InTaskMemory {
 public:
  using FutureStateBase::FutureStateBase;

  template <class... Value>
  void set(Value&&... value) {
    put(std::forward<Value>(value)...);
    make_ready();
  }
  /// Makes the value; finish() makes it ready.
  template <class... Value>
  void put(Value&&... value) {
    value_.emplace(std::forward<Value>(value)...);
  }
  /// The place of a value that a parcel is decoded into; finish() makes it ready.
  [[nodiscard]] NotVoid<T>& decoded() { return value_.emplace(); }
  void finish() noexcept { make_ready(); }
  /// The value, which is moved out, or throws.
  T take() {
    throw_error();
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }
  /// The value where it is, or throws: for consumers that share it.
  [[nodiscard]] const NotVoid<T>& look() const {
    look_for_error();
    return *value_;
  }

 private:
  std::optional<NotVoid<T>> value_;
};

/// A counted reference to a state.
template <class T>
class FutureReference {
 public:
  FutureReference() noexcept = default;
  /// Takes over the reference that the state was made with.
  explicit FutureReference(FutureState<T>* state) noexcept : state_(state) {}
  FutureReference(const FutureReference& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->retain();
  }
  FutureReference(FutureReference&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  FutureReference& operator=(FutureReference other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~FutureReference() {
    if (state_ != nullptr) state_->release();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] FutureState<T>* operator->() const noexcept { return state_; }
  [[nodiscard]] FutureState<T>& operator*() const noexcept { return *state_; }
  /// Gives the reference away as a plain pointer, which takes it over again.
  [[nodiscard]] FutureState<T>* detach() noexcept { return std::exchange(state_, nullptr); }

 private:
  FutureState<T>* state_ = nullptr;
};

template <class T>
[[nodiscard]] FutureReference<T> make_state(Scheduler* scheduler) {
  return FutureReference<T>(new FutureState<T>(scheduler));
}

}  // namespace detail
}  // namespace weft::parcel
