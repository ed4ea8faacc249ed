// Transports of threads that have serial resources and MPI's order: a stream each, or a device and a matching
// engine each that the program manages by hand.
#pragma once

#include <weft/weft.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "perf/libraries/weft/weft_own_counter.hpp"
#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// A stream of the group of all threads of both ranks.
class StreamOfThread {
 public:
  /// The streams of a rank, and their group.
  class All {
   public:
    All(Runtime& runtime, int threads) {
      std::vector<Stream*> pointers;
      streams_.reserve(static_cast<std::size_t>(threads));
      for (int thread = 0; thread < threads; ++thread) pointers.push_back(&streams_.emplace_back(runtime));
      group_.emplace(runtime, pointers);
    }
    [[nodiscard]] GroupStream member(int thread) const {
      return group_->member(static_cast<std::uint32_t>(thread));
    }

   private:
    std::vector<Stream> streams_;
    std::optional<StreamGroup> group_;
  };

  StreamOfThread(Runtime&, const All& all, int thread) : mine_(all.member(thread)) {}
  [[nodiscard]] int index() const { return static_cast<int>(mine_.index()); }
  [[gnu::always_inline]] Status send(int peer, int index, std::uint64_t tag, ByteView bytes,
                                     Completion& sent) {
    return mine_.post_send({peer, static_cast<std::uint32_t>(index)}, static_cast<std::uint32_t>(tag), bytes,
                           {.completion = &sent, .may_complete_now = true});
  }
  [[gnu::always_inline]] Status receive(int peer, int index, std::uint64_t tag, ByteSpan buffer,
                                        Completion& received) {
    return mine_.post_receive({peer, static_cast<std::uint32_t>(index)}, static_cast<std::uint32_t>(tag),
                              buffer, {.completion = &received});
  }
  [[nodiscard]] Status receive_from_any(int peer, std::uint64_t tag, ByteSpan buffer, Completion& received) {
    return mine_.post_receive({peer, any_index}, static_cast<std::uint32_t>(tag), buffer,
                              {.completion = &received});
  }
  [[gnu::always_inline]] void progress() { mine_.progress(); }
  template <class Condition>
  void wait_until(const Condition& condition) {
    mine_.stream().wait_until(condition);
  }

 private:
  GroupStream mine_;
};

/// The same by hand.
class DeviceOfThread {
 public:
  struct All {
    All(Runtime&, int) {}
  };
  DeviceOfThread(Runtime& runtime, const All&, int thread)
      : device_number_(static_cast<std::uint8_t>(thread + 1)),
        engine_(runtime, {.id = engine_of(device_number_), .order = MatchOrder::ordered, .serial = true}),
        device_(runtime, {.index = device_number_}),
        endpoint_(device_) {
    runtime.barrier();
  }
  [[nodiscard]] int index() const { return device_number_ - 1; }
  [[gnu::always_inline]] Status send(int peer, int, std::uint64_t tag, ByteView bytes, Completion& sent) {
    return endpoint_.post_send(peer, tag, bytes,
                               {.completion = &sent,
                                .engine = engine_of(device_number_),
                                .device = device_number_,
                                .may_complete_now = true});
  }
  [[gnu::always_inline]] Status receive(int peer, int, std::uint64_t tag, ByteSpan buffer,
                                        Completion& received) {
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

  SerialThreadTransport(Runtime& runtime, const typename Own::All& all, int thread, const Task& task)
      : runtime_(runtime), yields_(task.yields), own_(runtime, all, thread) {}

  [[nodiscard]] int rank() const { return 1 - peer_; }
  void progress() { own_.progress(); }
  [[nodiscard]] int stream() const { return own_.index(); }
  [[gnu::always_inline]] void post_receive(std::uint64_t tag, ByteSpan buffer) {
    post_receive_from_stream(own_.index(), tag, buffer);
  }
  [[gnu::always_inline]] void post_receive_from_stream(int index, std::uint64_t tag, ByteSpan buffer) {
    while (own_.receive(peer_, index, tag, buffer, received_.completion).is_retry()) [[unlikely]] idle();
    ++received_.expected;
  }
  void post_receive_from_any_stream(int, std::uint64_t tag, ByteSpan buffer) requires requires {
    &Own::receive_from_any;
  }
  {
    while (own_.receive_from_any(peer_, tag, buffer, received_.completion).is_retry()) idle();
    ++received_.expected;
  }
  void wait_receives() { wait(received_); }
  [[nodiscard]] bool receives_pending() const { return !received_.is_complete(); }
  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    post_send_to_stream(own_.index(), tag, bytes);
  }
  [[gnu::always_inline]] void post_send_to_stream(int index, std::uint64_t tag, ByteView bytes) {
    Status status = own_.send(peer_, index, tag, bytes, sent_.completion);
    while (status.is_retry()) [[unlikely]] {
        idle();
        status = own_.send(peer_, index, tag, bytes, sent_.completion);
      }
    if (status.is_posted()) ++sent_.expected;
  }
  void wait_sends() { wait(sent_); }

 private:
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
  SerialThreadsLibrary(const Task& task, Runtime runtime)
      : task_(task), runtime_(std::move(runtime)), all_(runtime_, task.threads) {}
  [[nodiscard]] std::unique_ptr<Transport> open(int thread) {
    return std::make_unique<Transport>(runtime_, all_, thread, task_);
  }

 private:
  const Task& task_;
  Runtime runtime_;
  typename Own::All all_;
};

}  // namespace weft::tools::perf
