// A callable that runs inside progress().
#pragma once

#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>

#include <utility>

namespace weft {

/// Calls `Function(Message&)` for every message; stored once, called without allocation or type erasure
/// beyond one virtual call, for messages that come in runs one per run.
///
/// The function must be noexcept in effect, may be called by every thread that progresses (on a device with
/// a SerialEndpoint: by that thread only), may post (what is refused goes to the backlog) and may call
/// progress (on its own device that returns at once).
template <class Function>
class Handler final : public Completion {
 public:
  explicit Handler(Function function) : function_(std::move(function)) {}
  ~Handler() override { withdraw(); }

  void signal(Message& message) noexcept override { function_(message); }
  void signal_all(Arrivals& arrivals) noexcept override { take_each(arrivals); }
  void signal_all_wide(WideArrivals& arrivals) noexcept override { take_each(arrivals); }
  /// A handler has nothing to wait for by itself: use Endpoint::wait_until with a condition of your own.
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  template <class Run>
  [[gnu::always_inline]] void take_each(BasicArrivals<Run>& arrivals) noexcept {
    arrivals.for_each([this](Message & message) __attribute__((always_inline)) { function_(message); });
  }

  Function function_;
};

}  // namespace weft
