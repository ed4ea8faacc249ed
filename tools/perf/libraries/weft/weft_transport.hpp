#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "perf/libraries/weft/weft_own_counter.hpp"
#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// A thread's endpoint: on a device of its own, or the endpoint that all threads of a rank share.
template <class AnyEndpoint>
class ThreadEndpoint {
 public:
  /// `threads` 1: the default device.
  ThreadEndpoint(Runtime& runtime, int thread, int threads, AnyEndpoint* shared) : shared_(shared) {
    if (shared != nullptr) return;
    if (threads > 1) {
      device_.emplace(runtime, DeviceOptions{.index = thread});
      index_ = static_cast<std::uint8_t>(thread);
      own_.emplace(*device_);
    } else {
      own_.emplace(runtime);
    }
  }
  [[nodiscard]] AnyEndpoint& endpoint() { return shared_ != nullptr ? *shared_ : *own_; }
  [[nodiscard]] std::uint8_t device() const { return index_; }
  /// Starts a progress thread, unless the endpoint is shared and its owner has started one.
  void start_progress_thread(Runtime& runtime) {
    if (shared_ != nullptr) return;
    device_ ? thread_.emplace(*device_) : thread_.emplace(runtime);
  }
  void stop_progress_thread() { thread_.reset(); }

 private:
  AnyEndpoint* shared_;
  std::uint8_t index_ = 0;
  std::optional<Device> device_;
  std::optional<AnyEndpoint> own_;
  std::optional<ProgressThread> thread_;
};

/// Sends and receives, puts and gets. SerialEndpoint uses a serial matching engine and completions that one
/// thread counts; Endpoint uses the default engine and counters that any thread may signal. With
/// kProgressThread the caller only waits; with kOrdered the engine keeps MPI's order.
template <class AnyEndpoint, bool kProgressThread = false, bool kOrdered = false>
class WeftTransport {
  static constexpr bool kIsSerial = std::is_same_v<AnyEndpoint, SerialEndpoint>;

 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = true;
  static constexpr bool kHasActiveMessages = false;  // weft_rate.cpp measures them, by completion object

  WeftTransport(Runtime& runtime, int thread, const Task& task, AnyEndpoint* shared)
      : runtime_(runtime),
        yields_(task.yields),
        tag_base_(static_cast<std::uint64_t>(thread) << 32),
        thread_endpoint_(runtime, thread, task.threads, shared),
        endpoint_(thread_endpoint_.endpoint()) {
    if constexpr (kProgressThread) thread_endpoint_.start_progress_thread(runtime);
    if constexpr (kIsSerial) engine_.emplace(runtime_, MatchingEngineOptions{.id = kEngine, .serial = true});
    if constexpr (kOrdered)
      if (thread == 0)
        engine_.emplace(runtime_, MatchingEngineOptions{.id = kEngine, .order = MatchOrder::ordered});
    runtime_.barrier();
  }

  [[nodiscard]] int rank() const { return runtime_.rank(); }
  void progress() {
    if constexpr (!kProgressThread) endpoint_.progress();
  }

  [[nodiscard]] int ranks() const { return runtime_.size(); }
  [[gnu::always_inline]] void post_receive(std::uint64_t tag, ByteSpan buffer) {
    post_receive_from(peer(), tag, buffer);
  }
  [[gnu::always_inline]] void post_receive_from(int source, std::uint64_t tag, ByteSpan buffer) {
    if (try_receive(source, tag, buffer).is_retry()) [[unlikely]]
      static_cast<void>(insist([=, this] { return try_receive(source, tag, buffer); }));
    ++received_.expected;
  }
  [[gnu::always_inline]] void post_receive_by(Wildcard wildcard, std::uint64_t tag,
                                              ByteSpan buffer) requires kOrdered {
    if (try_receive_by(wildcard, tag, buffer).is_retry()) [[unlikely]]
      static_cast<void>(insist([=, this] { return try_receive_by(wildcard, tag, buffer); }));
    ++received_.expected;
  }
  void wait_receives() { wait(received_); }
  [[nodiscard]] bool receives_pending() const { return !received_.is_complete(); }

  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    post_send_to(peer(), tag, bytes);
  }
  [[gnu::always_inline]] void post_send_to(int target, std::uint64_t tag, ByteView bytes) {
    Status status = try_send(target, tag, bytes);
    if (status.is_retry()) [[unlikely]]
      status = insist([=, this] { return try_send(target, tag, bytes); });
    if (status.is_posted()) ++sent_.expected;
  }
  void wait_sends() { wait(sent_); }

  void expose(std::size_t bytes) {
    region_ = MemoryRegion::allocate(runtime_, bytes);
    RemoteRegion all[2];
    runtime_.allgather(std::as_bytes(std::span(&region_.remote(), 1)),
                       std::as_writable_bytes(std::span(all)));
    mapped_ = map(runtime_, all[peer()]);
  }
  [[nodiscard]] ByteSpan memory() const { return region_.bytes(); }
  /// Puts and gets of one loop, which holds the region as a local object.
  class Access {
   public:
    explicit Access(WeftTransport& transport)
        : transport_(transport),
          endpoint_(transport.endpoint_),
          mapped_(transport.mapped_),
          peer_(transport.peer()) {}
    void post_put(std::size_t offset, ByteView bytes) {
      while (endpoint_.post_put(peer_, mapped_.at(offset), bytes).is_retry())
        [[unlikely]] transport_.progress();
    }
    void post_get(std::size_t offset, ByteSpan buffer) {
      while (endpoint_.post_get(peer_, mapped_.at(offset), buffer).is_retry())
        [[unlikely]] transport_.progress();
    }

   private:
    WeftTransport& transport_;
    AnyEndpoint& endpoint_;
    const MappedRegion mapped_;
    const int peer_;
  };
  [[nodiscard]] Access access() { return Access(*this); }
  void post_add(std::size_t offset, std::uint64_t operand) {
    while (endpoint_
               .template post_atomic<std::uint64_t>(peer(), mapped_.at(offset), AtomicOperation::add, operand)
               .is_retry())
      [[unlikely]] progress();
  }
  void post_fetch_add(std::size_t offset, std::uint64_t operand, std::uint64_t& before) {
    while (endpoint_
               .template post_fetch_atomic<std::uint64_t>(peer(), mapped_.at(offset), AtomicOperation::add,
                                                          operand, before)
               .is_retry())
      [[unlikely]] progress();
  }
  void flush() { endpoint_.flush(peer()); }

  void allreduce(std::span<const double> mine, std::span<double> sum) {
    if (!collective_) collective_.emplace(runtime_, endpoint_);
    if (collective_->allreduce(mine, sum, operators::Sum{}) != weft::Outcome::ok)
      throw Error("an allreduce failed");
  }

 private:
  static constexpr std::uint16_t kEngine = kOrdered ? kMatchingEngines : kIsSerial ? 1 : 0;

  struct Awaited {
    std::conditional_t<kIsSerial, OwnCounter, Counter> completion;
    std::uint64_t expected = 0;
    [[nodiscard]] bool is_complete() const { return completion.value() >= expected; }
  };

  [[nodiscard, gnu::always_inline]] Status try_receive(int source, std::uint64_t tag, ByteSpan buffer) {
    return endpoint_.post_receive(source, tag_base_ + tag, buffer,
                                  {.completion = &received_.completion, .engine = kEngine});
  }
  /// Of any tag: the upper half, that of the thread, counts, as a communicator does.
  [[nodiscard, gnu::always_inline]] Status try_receive_by(Wildcard wildcard, std::uint64_t tag,
                                                          ByteSpan buffer) {
    return wildcard == Wildcard::any_source ? try_receive(any_source, tag, buffer)
                                            : endpoint_.post_receive(peer(), tag_base_ + tag, buffer,
                                                                     {.completion = &received_.completion,
                                                                      .engine = kEngine,
                                                                      .tag_mask = ~std::uint64_t{0} << 32});
  }
  [[nodiscard, gnu::always_inline]] Status try_send(int target, std::uint64_t tag, ByteView bytes) {
    return endpoint_.post_send(target, tag_base_ + tag, bytes,
                               {.completion = &sent_.completion,
                                .engine = kEngine,
                                .device = thread_endpoint_.device(),
                                .may_complete_now = true});
  }
  /// Out of line: otherwise the loops that post would keep their variables in memory for its sake.
  template <class Post>
  [[gnu::noinline, gnu::cold]] Status insist(const Post& post) {
    IdleStrategy idle(yields_);
    for (;;) {
      idle.poll(*this);
      if (const Status status = post(); !status.is_retry()) return status;
    }
  }
  void wait(Awaited& awaited) {
    if (!yields_) {
      while (!awaited.is_complete()) progress();
    } else if constexpr (kIsSerial) {
      endpoint_.wait_until([&] { return awaited.is_complete(); });
    } else {
      endpoint_.wait(awaited.completion, awaited.expected);
    }
  }
  [[nodiscard]] int peer() const { return peer_; }

  Runtime& runtime_;
  const int peer_ = 1 - runtime_.rank();  // cached, as in a program that uses it often
  const bool yields_;
  const std::uint64_t tag_base_;
  std::optional<MatchingEngine> engine_;
  Awaited received_;
  Awaited sent_;
  ThreadEndpoint<AnyEndpoint> thread_endpoint_;
  AnyEndpoint& endpoint_;
  MemoryRegion region_;
  MappedRegion mapped_;
  std::optional<Collective> collective_;
};

/// A transport made of active messages: a receive waits for an arrival. Payloads are read by a handler; only
/// the words of control reach the buffers of their receives.
template <class AnyEndpoint, bool kProgressThread = false>
class WeftAmTransport {
 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = false;
  static constexpr bool kHasActiveMessages = true;

  WeftAmTransport(Runtime& runtime, int thread, const Task& task, AnyEndpoint* shared)
      : runtime_(runtime),
        yields_(task.yields),
        thread_endpoint_(runtime, thread, task.threads, shared),
        endpoint_(thread_endpoint_.endpoint()),
        remote_(runtime.expose(
            arrivals_, {.id = 1 + static_cast<std::uint32_t>(thread), .device = thread_endpoint_.device()})) {
    arrivals_.shared = shared != nullptr && !kProgressThread;
    if constexpr (kProgressThread) thread_endpoint_.start_progress_thread(runtime);
    runtime_.barrier();
  }
  ~WeftAmTransport() {
    thread_endpoint_.stop_progress_thread();
    arrivals_.withdraw();
    handed_over_.reset();
  }

  [[nodiscard]] int rank() const { return runtime_.rank(); }
  void progress() {
    if constexpr (!kProgressThread) endpoint_.progress();
  }
  void expect_am(AmSink& sink) {
    handed_over_.emplace(HandOver{&sink});
    stream_ =
        runtime_.expose(*handed_over_, {.id = kStreams + remote_.id(), .device = thread_endpoint_.device()});
  }
  [[gnu::always_inline]] void post_am(ByteView bytes) {
    if (endpoint_.post_am(peer_, stream_, bytes).is_retry()) [[unlikely]]
      post_again(stream_, 0, bytes, IdleStrategy::Awaits::stream);
  }
  void post_receive(std::uint64_t tag, ByteSpan buffer) {
    if (tag == 1) control_ = buffer.data();
    ++expected_;
  }
  void wait_receives() {
    for (IdleStrategy idle(yields_); receives_pending();) idle.poll(*this);
    if (control_ == nullptr) return;
    const std::uint64_t word = arrivals_.control();
    std::memcpy(control_, &word, sizeof word);
  }
  [[nodiscard]] bool receives_pending() const { return arrivals_.value() < expected_; }
  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    const auto number = static_cast<std::uint32_t>(tag);
    if (endpoint_.post_am(peer_, remote_, bytes, {.tag = number}).is_retry()) [[unlikely]]
      post_again(remote_, number, bytes, IdleStrategy::Awaits::answer);
  }
  /// Posts an active message of any size; its buffer is borrowed until wait_sends() returns.
  void post_large_am(ByteView bytes) {
    Status status = try_large(bytes);
    if (status.is_retry()) {
      IdleStrategy idle(yields_, IdleStrategy::Awaits::stream);
      do {
        idle.poll(*this);
        status = try_large(bytes);
      } while (status.is_retry());
    }
    if (status.is_posted()) ++sending_;
  }
  void wait_sends() {  // small payloads are sent when the post returns
    for (IdleStrategy idle(yields_); sent_.value() < sending_;) idle.poll(*this);
  }

 private:
  static constexpr std::uint32_t kStreams = 64;  // ids from here up are of streams

  [[gnu::noinline, gnu::cold]] void post_again(RemoteCompletion remote, std::uint32_t tag, ByteView bytes,
                                               IdleStrategy::Awaits awaits) {
    IdleStrategy idle(yields_, awaits);
    do idle.poll(*this);
    while (endpoint_.post_am(peer_, remote, bytes, {.tag = tag}).is_retry());
  }

  [[nodiscard]] Status try_large(ByteView bytes) {
    return endpoint_.post_am(peer_, stream_, bytes, {.completion = &sent_, .may_complete_now = true});
  }

  struct HandOver {
    AmSink* sink;
    void operator()(Message& message) const noexcept { sink->take(message.data(), message.size()); }
  };
  class Arrivals final : public Completion {
   public:
    ~Arrivals() override { withdraw(); }
    void signal(Message& message) noexcept override {
      std::uint64_t word = 0;
      if (message.size() == sizeof word) std::memcpy(&word, message.data(), sizeof word);
      // The word may come before the wait for it, and to another thread of the device.
      if (message.tag() == 1) control_.store(word, std::memory_order_relaxed);
      last_.store(word, std::memory_order_relaxed);
      // Pairs with the acquire in value().
      if (shared) {
        count_.fetch_add(1, std::memory_order_release);
      } else {
        count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      }
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }
    [[nodiscard]] std::uint64_t value() const noexcept { return count_.load(std::memory_order_acquire); }
    /// The last word of control; for a thread that has seen it counted.
    [[nodiscard]] std::uint64_t control() const noexcept { return control_.load(std::memory_order_relaxed); }
    bool shared = false;  ///< several threads progress the device

   private:
    std::atomic<std::uint64_t> control_{0};
    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> last_{0};  // keeps the reads of the payloads
  };

  Runtime& runtime_;
  const int peer_ = 1 - runtime_.rank();
  const bool yields_;
  std::uint64_t expected_ = 0;
  std::byte* control_ = nullptr;  // destination of the word that is waited for
  Arrivals arrivals_;
  Counter sent_;  // large messages
  std::uint64_t sending_ = 0;
  ThreadEndpoint<AnyEndpoint> thread_endpoint_;
  AnyEndpoint& endpoint_;
  RemoteCompletion remote_;
  std::optional<Handler<HandOver>> handed_over_;
  RemoteCompletion stream_;
};

/// Interface of weft to team.hpp.
template <class AnyTransport, class AnyEndpoint>
class WeftLibrary {
 public:
  using Transport = AnyTransport;
  WeftLibrary(const Task& task, Runtime runtime) : task_(task), runtime_(std::move(runtime)) {
    if (!task.shared) return;
    shared_.emplace(runtime_);
    if constexpr (!std::is_same_v<AnyEndpoint, SerialEndpoint>)
      if (task.progress_thread) thread_.emplace(runtime_);
  }
  [[nodiscard]] std::unique_ptr<Transport> open(int thread) {
    return std::make_unique<Transport>(runtime_, thread, task_, shared_ ? &*shared_ : nullptr);
  }

 private:
  const Task& task_;
  Runtime runtime_;
  std::optional<AnyEndpoint> shared_;
  std::optional<ProgressThread> thread_;
};

}  // namespace weft::tools::perf
