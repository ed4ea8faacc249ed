// Transports of threads that have serial resources and MPI's order: a stream each, or a device and a matching
// engine each that the program manages by hand.
#pragma once

#include <weft/weft.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// A stream, in a group with that of the same thread of the other rank.
class StreamOfThread {
 public:
  StreamOfThread(Runtime& runtime, int) : stream_(runtime), group_(runtime, stream_), mine_(group_.member()) {}
  [[gnu::always_inline]] Status send(int peer, std::uint64_t tag, ByteView bytes, Completion& sent) {
    return mine_.post_send({peer, 0}, static_cast<std::uint32_t>(tag), bytes,
                           {.completion = &sent, .may_complete_now = true});
  }
  [[gnu::always_inline]] Status receive(int peer, std::uint64_t tag, ByteSpan buffer, Completion& received) {
    return mine_.post_receive({peer, 0}, static_cast<std::uint32_t>(tag), buffer, {.completion = &received});
  }
  [[gnu::always_inline]] void progress() { mine_.progress(); }
  template <class Condition>
  void wait_until(const Condition& condition) {
    stream_.wait_until(condition);
  }

 private:
  Stream stream_;
  StreamGroup group_;
  GroupStream mine_;
};

/// The same by hand.
class DeviceOfThread {
 public:
  DeviceOfThread(Runtime& runtime, int thread)
      : device_number_(static_cast<std::uint8_t>(thread + 1)),
        engine_(runtime, {.id = engine_of(device_number_), .order = MatchOrder::ordered, .serial = true}),
        device_(runtime, {.index = device_number_}),
        endpoint_(device_) {
    runtime.barrier();
  }
  [[gnu::always_inline]] Status send(int peer, std::uint64_t tag, ByteView bytes, Completion& sent) {
    return endpoint_.post_send(peer, tag, bytes,
                               {.completion = &sent,
                                .engine = engine_of(device_number_),
                                .device = device_number_,
                                .may_complete_now = true});
  }
  [[gnu::always_inline]] Status receive(int peer, std::uint64_t tag, ByteSpan buffer, Completion& received) {
    return endpoint_.post_receive(peer, tag, buffer,
                                  {.completion = &received, .engine = engine_of(device_number_)});
  }
  [[gnu::always_inline]] void progress() { endpoint_.progress(); }
  template <class Condition>
  void wait_until(const Condition& condition) {
    endpoint_.wait_until(condition);
  }

 private:
  [[nodiscard]] static constexpr std::uint16_t engine_of(std::uint8_t device) noexcept {
    return static_cast<std::uint16_t>(kMatchingEngines + device);
  }
  const std::uint8_t device_number_;
  MatchingEngine engine_;
  Device device_;
  SerialEndpoint endpoint_;
};

template <class Own>
class SerialThreadTransport {
 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = false;
  static constexpr bool kHasActiveMessages = false;

  SerialThreadTransport(Runtime& runtime, int thread, const Task& task)
      : runtime_(runtime), yields_(task.yields), own_(runtime, thread) {}

  [[nodiscard]] int rank() const { return 1 - peer_; }
  void progress() { own_.progress(); }
  [[gnu::always_inline]] void post_receive(std::uint64_t tag, ByteSpan buffer) {
    while (own_.receive(peer_, tag, buffer, received_.completion).is_retry())
      [[unlikely]] idle();
    ++received_.expected;
  }
  void wait_receives() { wait(received_); }
  [[nodiscard]] bool receives_pending() const { return !received_.is_complete(); }
  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    Status status = own_.send(peer_, tag, bytes, sent_.completion);
    while (status.is_retry()) [[unlikely]] {
      idle();
      status = own_.send(peer_, tag, bytes, sent_.completion);
    }
    if (status.is_posted()) ++sent_.expected;
  }
  void wait_sends() { wait(sent_); }

 private:
  /// Counts completions of one thread.
  class OwnCounter final : public Completion {
   public:
    OwnCounter() : Completion(CountsOnly{}) {}
    ~OwnCounter() override { withdraw(); }
    void signal(Message&) noexcept override { ++value_; }
    void signal_count(std::uint64_t count) noexcept override { value_ += count; }
    [[nodiscard]] bool ready() const noexcept override { return true; }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

   private:
    std::uint64_t value_ = 0;
  };
  struct Awaited {
    OwnCounter completion;
    std::uint64_t expected = 0;
    [[nodiscard]] bool is_complete() const { return completion.value() >= expected; }
  };

  [[gnu::noinline, gnu::cold]] void idle() {
    IdleStrategy strategy(yields_);
    strategy.poll(*this);
  }
  void wait(Awaited& awaited) {
    if (!yields_)
      while (!awaited.is_complete()) progress();
    else
      own_.wait_until([&] { return awaited.is_complete(); });
  }

  Runtime& runtime_;
  const bool yields_;
  const int peer_ = 1 - runtime_.rank();
  Awaited received_;
  Awaited sent_;
  Own own_;
};

template <class Own>
class SerialThreadsLibrary {
 public:
  using Transport = SerialThreadTransport<Own>;
  SerialThreadsLibrary(const Task& task, Runtime runtime) : task_(task), runtime_(std::move(runtime)) {}
  [[nodiscard]] std::unique_ptr<Transport> open(int thread) {
    return std::make_unique<Transport>(runtime_, thread, task_);
  }

 private:
  const Task& task_;
  Runtime runtime_;
};

}  // namespace weft::tools::perf
