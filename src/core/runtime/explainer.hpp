// Explains why a rank does not go on: what its threads wait for, and which operations have not ended.
#pragma once

#include "core/diagnosis/report.hpp"
#include "core/diagnosis/report_channel.hpp"
#include "core/diagnosis/signal_notice.hpp"
#include "core/diagnosis/waits.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <tuple>

namespace weft::detail {

class RuntimeState;

/// A thread that sleeps until somebody asks: SIGUSR1, the launcher (`weft run --explain`), or a wait that has
/// lasted for longer than the attribute explain_after. It looks at the runtime's devices and engines itself,
/// so all other threads may be parked, or anywhere else. Lives only while explanations are asked for.
class Explainer {
 public:
  /// Null when the attributes and the launcher ask for none.
  [[nodiscard]] static std::unique_ptr<Explainer> make(RuntimeState& runtime);
  ~Explainer();
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;

  [[nodiscard]] core::Waits& waits() noexcept { return waits_; }

 private:
  Explainer(RuntimeState& runtime, std::unique_ptr<core::ReportChannel> channel, bool hears_signal,
            double limit);
  void run();
  void print(const char* cause);
  void check_waits();
  [[nodiscard]] core::Report look();
  void add_waits(core::Report& report);
  void add_operations(core::Report& report);

  RuntimeState& runtime_;
  core::Waits waits_;
  core::SignalNotice notice_;
  const std::unique_ptr<core::ReportChannel> channel_;
  const std::int64_t limit_ns_;  // of waits; 0: none
  /// When an operation was seen first: by kind, engine, device and identity.
  using Name = std::tuple<core::PendingKind, std::int32_t, std::int32_t, std::uint64_t>;
  std::map<Name, std::int64_t> seen_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace weft::detail
