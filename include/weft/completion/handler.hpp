// Handlers: callables that run inside progress(), or inside a post whose operation ends at once.
#pragma once

#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>

#include <utility>

namespace weft {

/// Calls `Function(Message&)` for every message. The function is stored once and called without allocation or
/// type erasure except for one virtual call; for messages that come in batches, one per batch.
///
/// The function must be noexcept in effect, may be called by every thread that progresses (on a device with a
/// SerialEndpoint: by that thread only), may post (refused operations go to the backlog, and operations that
/// end at once nest to a small bound: Completion::signal) and may call progress (which returns at once on its
/// own device). It must not wait.
template <class Function>
class Handler final : public Completion {
 public:
  explicit Handler(Function function) : function_(std::move(function)) {}
  ~Handler() override { retire(); }

  void signal(Message& message) noexcept override { function_(message); }
  void signal_batch(Arrivals& arrivals) noexcept override {
    arrivals.for_each([this](Message & message) __attribute__((always_inline)) { function_(message); });
  }
  /// Always returns true, since a handler has no condition to wait for: use Endpoint::wait_until with a
  /// condition of your own.
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  Function function_;
};

}  // namespace weft
