#pragma once

#include <weft/weft.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::tools::perf {

/// A completion object that hands every arriving message to `consume(Message&)`: from inside progress().
struct ToHandler {
  template <class Consume>
  class Inbox {
   public:
    explicit Inbox(Consume consume) : handler_(std::move(consume)) {}
    Completion& completion() { return handler_; }
    void drain() {}

   private:
    Handler<Consume> handler_;
  };
};

/// Hands every arriving message to `consume(Message&)` through a queue, which the receiver empties after
/// every progress().
template <class Queue>
struct ToQueue {
  template <class Consume>
  class Inbox {
   public:
    explicit Inbox(Consume consume) : consume_(std::move(consume)) {}
    Completion& completion() { return queue_; }
    void drain() {
      while (queue_.pop(message_)) consume_(message_);
    }

   private:
    Queue queue_;
    Message message_;
    Consume consume_;
  };
};

/// Calls `run` with the types that a transport of the catalogue names: run(type_identity<Endpoint>, To...).
/// Returns false for an unknown name.
template <class Run>
bool with_transport(std::string_view name, const Run& run) {
  const std::type_identity<SerialEndpoint> serial;
  const std::type_identity<Endpoint> any_thread;
  if (name == "serial-handler") {
    run(serial, ToHandler{});
  } else if (name == "serial-queue") {
    run(serial, ToQueue<SerialCompletionQueue>{});
  } else if (name == "single-consumer-queue") {
    run(serial, ToQueue<SingleConsumerQueue>{});
  } else if (name == "queue") {
    run(serial, ToQueue<CompletionQueue>{});
  } else if (name == "default-handler") {
    run(any_thread, ToHandler{});
  } else {
    return false;
  }
  return true;
}

/// Ids of the two completion objects of a worker, the same on both ranks.
inline constexpr ExposeOptions kDataId{.id = 1};
inline constexpr ExposeOptions kControlId{.id = 2};

}  // namespace weft::tools::perf
