// A thread that calls only post, progress and pop of weft.
#pragma once

#include "perf/libraries/weft/weft_transport.hpp"

namespace weft::tools::perf {

/// An Endpoint and a CompletionQueue of one thread.
class WeftPolling {
 public:
  static constexpr bool kHasMatching = false;
  static constexpr bool kHasAccess = false;
  static constexpr bool kHasActiveMessages = false;

  WeftPolling(Runtime& runtime, int thread, const Task& task, Endpoint* shared)
      : runtime_(runtime),
        thread_endpoint_(runtime, thread, task.threads, shared),
        endpoint_(thread_endpoint_.endpoint()),
        remote_(runtime.expose(
            inbox_, {.id = 1 + static_cast<std::uint32_t>(thread), .device = thread_endpoint_.device()})) {
    runtime_.barrier();
  }

  [[nodiscard]] int rank() const { return runtime_.rank(); }
  void start_polling(std::size_t /*window*/) {}
  [[nodiscard]] bool poll(std::uint64_t& word) {
    endpoint_.progress();
    if (!inbox_.pop(message_)) return false;
    word = message_.as<std::uint64_t>();
    return true;
  }
  void poll_send(std::uint64_t word) {
    while (endpoint_.post_am(1 - runtime_.rank(), remote_, bytes_of(word)).is_retry()) endpoint_.progress();
  }
  void finish_polling() {}

 private:
  Runtime& runtime_;
  CompletionQueue inbox_;
  ThreadEndpoint<Endpoint> thread_endpoint_;
  Endpoint& endpoint_;
  RemoteCompletion remote_;
  Message message_;
};

}  // namespace weft::tools::perf
