// Streams: serial execution contexts with communication resources of their own (H. Zhou et al., "MPIX Stream:
// An Explicit Solution to Hybrid MPI+X Programming", EuroMPI 2022).
#pragma once

#include <weft/detail/stream_gate.hpp>
#include <weft/detail/wait_condition.hpp>
#include <weft/device.hpp>
#include <weft/endpoint.hpp>
#include <weft/runtime.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>

namespace weft {

class Stream;

namespace stream {
class StreamRegistry;
struct StreamState;
}  // namespace stream

/// Options of a Stream.
struct StreamOptions {
  /// The index of the device that the stream opens, 1 to devices_max - 1; by default the lowest that is free.
  CheckedIndex<std::int32_t, IndexOf::device> device = DeviceOptions::kNextFree;
};

/// Access to the endpoint of a stream for the lifetime of the object: the calling thread is inside the
/// stream. Neither copied nor passed to other threads.
class [[nodiscard]] StreamAccess {
 public:
  explicit StreamAccess(Stream& stream);
  /// For those who know the stream's endpoint and gate.
  [[gnu::always_inline]] StreamAccess(Stream& stream, SerialEndpoint& endpoint, detail::StreamGate* gate)
      : endpoint_(&endpoint), gate_(gate) {
    if (gate == nullptr) return;
    const detail::GateEntry found = gate->enter();
    if (found != detail::GateEntry::entered) [[unlikely]]
      gate_ = enter_slow(stream, found);
  }
  ~StreamAccess() {
    if (gate_ != nullptr) gate_->leave();
  }
  StreamAccess(const StreamAccess&) = delete;
  StreamAccess& operator=(const StreamAccess&) = delete;
  [[nodiscard]] SerialEndpoint* operator->() const noexcept { return endpoint_; }
  [[nodiscard]] SerialEndpoint& operator*() const noexcept { return *endpoint_; }

 private:
  /// The gate that is to be left; nullptr: the thread was inside already.
  WEFT_API static detail::StreamGate* enter_slow(Stream& stream, detail::GateEntry found);
  SerialEndpoint* endpoint_;
  detail::StreamGate* gate_;
};

/// A serial execution context: whatever runs one after the other, a thread, a fibre, the tasks of one queue,
/// has a stream of its own, with a device whose endpoint takes no lock and a matching engine that is its
/// alone. One thread at a time uses a stream; which one may change, as far as the program orders its uses. A
/// second thread inside is an error that names both, always in programs compiled with assertions and nearly
/// always in others.
///
/// A stream that its own thread does not progress is attended to: threads that wait on other streams of the
/// runtime, and StreamProgressThreads, take it over for a call of progress() at a time, and run its handlers.
/// Then its thread waits for the end of that call when it comes. Handlers neither make nor destroy streams.
///
/// Sends and receives of streams go through a StreamGroup; all other operations of an endpoint through `->`:
/// `stream->post_am(...)`.
class WEFT_API Stream {
 public:
  /// Throws weft::Error when the device cannot be had, or its matching engine: streams use the ordered
  /// engines 510 downwards, by device.
  explicit Stream(Runtime& runtime, const StreamOptions& options = {});
  /// The shared default of the runtime, which any number of threads use, over an Endpoint on device 0. Every
  /// call returns an object of its own for the same stream.
  [[nodiscard]] static Stream null(Runtime& runtime);
  /// Cancels receives that are still posted, and waits for sends as the destructor of Device does. An error
  /// is logged that names the operations that were pending: close() reports it instead. Groups keep a stream:
  /// all of this then happens at the end of the last one. Names a StreamQueue that still uses the stream, and
  /// ends the program.
  ~Stream();
  /// Groups and queues of the stream go on with the new object.
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;

  /// Frees the stream, at once or when its last group ends. Throws weft::Error, without effect, while
  /// operations of it are pending, and names them; and while a StreamQueue uses it.
  void close();

  /// The index of the stream's device; 0: the null stream.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_null() const noexcept { return index_ == 0; }

  /// The endpoint, for one expression: `stream->post_put(...)`. Throws weft::Error for the null stream, which
  /// has no endpoint without locks: use with().
  [[nodiscard]] StreamAccess operator->() { return StreamAccess(*this); }
  /// The endpoint for as long as the result lives: for several operations in a row.
  [[nodiscard]] StreamAccess enter() { return StreamAccess(*this); }
  /// Calls use(endpoint), whose endpoint is a SerialEndpoint, or the Endpoint of the null stream.
  template <class Use>
  decltype(auto) with(const Use& use) {
    if (shared_ != nullptr) return use(*shared_);
    const StreamAccess access(*this);
    return use(*access);
  }

  /// Moves the stream's communication forward; see BasicEndpoint::progress().
  std::size_t progress() {
    note_poll();
    return with([](auto& endpoint) { return endpoint.progress(); });
  }

  // The calls that wait progress this stream, and now and then the streams that nobody else progresses. Not
  // inside handlers.

  template <class Producers, class Consumers>
  [[nodiscard]] Message wait(BasicCompletionQueue<Producers, Consumers>& queue,
                             const std::source_location& where = std::source_location::current()) {
    Message message;
    while (!queue.pop(message)) wait_ready(queue, where);
    return message;
  }
  std::span<Message> wait(Synchronizer& synchronizer,
                          const std::source_location& where = std::source_location::current()) {
    wait_ready(synchronizer, where);
    return synchronizer.messages();
  }
  void wait(Counter& counter, std::uint64_t target,
            const std::source_location& where = std::source_location::current()) {
    const auto reached = [&] { return counter.value() >= target; };
    detail::WaitCondition condition = condition_of_call(reached, where);
    condition.completion = &counter;
    static_cast<void>(wait_condition(condition));
  }
  /// Also posts again the operations of the graph that had been refused. Returns the graph's outcome.
  Outcome wait(Graph& graph, const std::source_location& where = std::source_location::current()) {
    const auto has_ended = [&] { return graph.test(); };
    detail::WaitCondition condition = condition_of_call(has_ended, where);
    condition.completion = &graph;
    static_cast<void>(wait_condition(condition));
    return graph.outcome();
  }
  template <std::derived_from<Completion> Object>
  void wait_ready(Object& completion, const std::source_location& where = std::source_location::current()) {
    static_cast<void>(wait_condition(condition_of(completion, where)));
  }
  template <class Condition>
  void wait_until(const Condition& condition,
                  const std::source_location& where = std::source_location::current()) {
    static_cast<void>(wait_condition(condition_of_call(condition, where)));
  }
  /// Waits for at most `timeout`. Returns whether the object is ready.
  template <std::derived_from<Completion> Object>
  [[nodiscard]] bool wait_for(Object& completion, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) {
    return wait_condition_for(condition_of(completion, where), timeout);
  }
  /// Waits for at most `timeout`. Returns whether the condition holds.
  template <std::predicate Condition>
  [[nodiscard]] bool wait_for(const Condition& condition, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) {
    return wait_condition_for(condition_of_call(condition, where), timeout);
  }
  /// Waits for `condition`; with a timeout other than 0 at most so long. Returns whether it holds.
  bool wait_condition(const detail::WaitCondition& condition, Timeout timeout = {});

 private:
  bool wait_condition_for(const detail::WaitCondition& condition, Timeout timeout);
  bool wait_condition_until(const detail::WaitCondition& condition, std::int64_t end);
  friend class StreamAccess;
  friend class StreamGroup;
  friend class GroupStream;
  friend struct stream::StreamState;
  explicit Stream(std::shared_ptr<stream::StreamState> state) noexcept;
  /// A view of a stream, which frees nothing: for its groups; without gate for a thread that has taken it.
  Stream(stream::StreamState& state, bool has_gate) noexcept;
  template <class Object>
  [[nodiscard]] static detail::WaitCondition condition_of(Object& completion,
                                                          const std::source_location& where) noexcept {
    return {[](const void* context) noexcept { return static_cast<const Object*>(context)->ready(); },
            &completion,
            &completion,
            {"a completion object", where}};
  }
  template <class Condition>
  [[nodiscard]] static detail::WaitCondition condition_of_call(const Condition& condition,
                                                               const std::source_location& where) noexcept {
    return {[](const void* context) noexcept { return (*static_cast<const Condition*>(context))(); },
            &condition,
            nullptr,
            {"a condition", where}};
  }
  void note_poll();
  /// Throws weft::Error: the stream has no endpoint without locks.
  [[noreturn]] SerialEndpoint& refuse() const;

  std::shared_ptr<stream::StreamState> state_;
  SerialEndpoint* serial_ = nullptr;
  Endpoint* shared_ = nullptr;  // of the null stream
  detail::StreamGate* gate_ = nullptr;
  std::uint32_t index_ = 0;
  bool is_view_ = false;
};

inline StreamAccess::StreamAccess(Stream& stream)
    : StreamAccess(stream, stream.serial_ != nullptr ? *stream.serial_ : stream.refuse(), stream.gate_) {}

/// Options of a StreamProgressThread.
struct StreamProgressThreadOptions {
  /// How long the thread sleeps between looks for streams that nobody progresses.
  Timeout interval = Timeout::of_nanoseconds(50'000);
};

/// A thread that takes over, a call of progress() at a time, the streams of a runtime that their own threads
/// do not progress, and hands them back. Its runtime must outlive it.
class WEFT_API StreamProgressThread {
 public:
  explicit StreamProgressThread(Runtime& runtime, const StreamProgressThreadOptions& options = {});
  ~StreamProgressThread();
  StreamProgressThread(const StreamProgressThread&) = delete;
  StreamProgressThread& operator=(const StreamProgressThread&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
