// Work of a known length, and the search for the shortest that pays.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::tools::study {

/// A loop of multiply-adds that depend on each other, as long as was measured for a number of nanoseconds.
class Grain {
 public:
  /// Measures the loop, once per process.
  static void calibrate();
  static void compute(double nanoseconds);

 private:
  static void loop(std::uint64_t rounds);
};

/// Runs passes of `tasks` tasks on `cores` cores with tasks of `longest_ns`, then half of that, and so on,
/// until less than half of the time is work. run_pass(grain_ns) gives seconds on the root; agree(is_over) is
/// the root's answer on every rank. Fills "curve", and "metg_us": what a task takes, work and waits, where
/// half of it is work; or "why" there is none.
template <class RunPass, class Agree>
void find_least_granularity(nlohmann::json& figures, double longest_ns, double cores, double tasks,
                            bool is_root, const RunPass& run_pass, const Agree& agree) {
  nlohmann::json curve = nlohmann::json::array();
  double last_grain = 0;
  double last_efficiency = 0;
  for (double grain = longest_ns; grain >= 64; grain /= 2) {
    const double elapsed = run_pass(grain);
    const double efficiency = tasks * grain * 1e-9 / (elapsed * cores);
    bool is_over = false;
    if (is_root) {
      curve.push_back({{"grain_ns", grain},
                       {"efficiency", efficiency},
                       {"granularity_us", elapsed * cores / tasks * 1e6}});
      is_over = efficiency < 0.5;
      if (is_over && last_grain != 0) {
        // Between the two grains, on a logarithmic axis.
        const double share = (0.5 - efficiency) / (last_efficiency - efficiency);
        figures["metg_us"] = 2e-3 * grain * std::pow(last_grain / grain, share);
      }
    }
    last_grain = grain;
    last_efficiency = efficiency;
    if (agree(is_over)) break;
  }
  figures["curve"] = curve;
  if (!is_root || figures.contains("metg_us")) return;
  // Written without fmt, since peers' programs include this.
  const auto rounded = [](double value) { return std::to_string(std::lround(value)); };
  figures["why"] = curve.size() == 1 ? "reaches only " + rounded(100 * last_efficiency) +
                                           " % even with tasks of " + rounded(longest_ns / 1000) + " us"
                                     : "has " + rounded(100 * last_efficiency) + " % even with tasks of " +
                                           rounded(last_grain) + " ns";
}

}  // namespace weft::tools::study
