// Explains why a rank makes no progress: what its threads wait for, and which operations have not ended.
#pragma once

#include "core/diagnosis/rank_report.hpp"
#include "core/diagnosis/report_channel.hpp"
#include "core/diagnosis/signal_notice.hpp"
#include "core/diagnosis/waits.hpp"

#include <weft/counters.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <tuple>

namespace weft::detail {

class RuntimeState;

/// A thread that sleeps until an explanation is asked for: by SIGUSR1, the launcher (`weft run --explain`),
/// or a wait that has lasted longer than the attribute explain_after. It reads the runtime's devices and
/// engines itself, so all other threads may be parked, or anywhere else. Exists only while explanations are
/// enabled.
class Explainer {
 public:
  /// Returns null when neither the attributes nor the launcher enable explanations.
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
  void add_queues(core::Report& report);
  void add_refusals(core::Report& report);

  RuntimeState& runtime_;
  core::Waits waits_;
  core::SignalNotice notice_;
  const std::unique_ptr<core::ReportChannel> channel_;
  const std::int64_t limit_ns_;  // limit of waits; 0: none
  /// The time when an operation was first seen: by kind, engine, device and identity.
  using Name = std::tuple<core::PendingKind, std::int32_t, std::int32_t, std::uint64_t>;
  std::map<Name, std::int64_t> seen_;
  /// Objects with stored messages in the last report, by id.
  struct Rest {
    std::uint64_t taken;
    std::int64_t since_ns;
  };
  std::map<std::uint16_t, Rest> rests_;
  RuntimeCounters counters_;  // in the last report
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace weft::detail
