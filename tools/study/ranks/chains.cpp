// The multi-chain ping-pong: C chains, each S tasks that alternate between two ranks and carry B bytes.
//
// A task may sweep the buffer, x = fma(x, 1, 1) for each element, and compute for a while. All values stay
// whole numbers, so that after S sweeps an element is exactly its first value plus S.
#include <weft/error.hpp>

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "study/ranks/distribution.hpp"
#include "study/ranks/grain.hpp"
#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

using parcel::action;
using parcel::Runtime;

struct Settings {
  std::uint32_t chains = 1;
  std::uint32_t steps = 100;
  std::uint32_t bytes = 16;
  double grain_ns = 0;
  bool sweeps = false;
  bool has_single_source = false;
  double injection = 0;  // chains started per second and rank; 0: at once
};

/// What one rank does of an iteration. Written before the barrier that begins it.
struct Iteration {
  Settings settings;
  std::vector<std::int64_t> began;  // by chain
  std::vector<double> seconds;      // by chain that has begun here
  std::uint32_t own = 0;            // chains that begin here
  std::atomic<std::uint32_t> finished{0};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<int> ranks_done{0};
  parcel::Promise<void> all_done;
};
std::unique_ptr<Iteration> now;

struct Position {
  std::uint32_t chain;
  std::uint32_t done;  // steps
  int start;
  int partner;
};

double first_value(std::uint32_t chain, std::size_t index) {
  return static_cast<double>(chain) * 1000 + static_cast<double>(index);
}

void rank_is_done(Runtime& runtime) {
  if (now->ranks_done.fetch_add(1) + 1 == runtime.size()) now->all_done.set();
}
void chain_is_done(Runtime& runtime, std::uint32_t chain, std::uint64_t wrong) {
  now->seconds[chain] = static_cast<double>(now_ns() - now->began[chain]) * 1e-9;
  now->wrong.fetch_add(wrong, std::memory_order_relaxed);
  if (now->finished.fetch_add(1) + 1 == now->own) runtime.apply(0, action<&rank_is_done>);
}

void step(Runtime& runtime, Position at, std::vector<double> buffer) {
  const Settings& settings = now->settings;
  now->steps.fetch_add(1, std::memory_order_relaxed);
  if (settings.sweeps)
    for (double& value : buffer) value = std::fma(value, 1.0, 1.0);
  if (settings.grain_ns > 0) Grain::compute(settings.grain_ns);
  ++at.done;
  if (at.done < settings.steps) {
    const int next = at.done % 2 == 0 ? at.start : at.partner;
    runtime.apply(next, action<&step>, at, std::move(buffer));
    return;
  }
  std::uint64_t wrong = buffer.size() == settings.bytes / sizeof(double) ? 0 : 1;
  const double added = settings.sweeps ? settings.steps : 0;
  for (std::size_t index = 0; index < buffer.size(); ++index)
    wrong += buffer[index] == first_value(at.chain, index) + added ? 0 : 1;
  runtime.apply(at.start, action<&chain_is_done>, at.chain, wrong);
}

/// Starts the chains of this rank: as tasks of their own, at their times.
void start_chains(Runtime& runtime) {
  const Settings& settings = now->settings;
  const auto ranks = static_cast<std::uint32_t>(runtime.size());
  const auto rank = static_cast<std::uint32_t>(runtime.rank());
  const std::int64_t begin = now_ns();
  std::uint32_t started = 0;
  for (std::uint32_t chain = 0; chain < settings.chains; ++chain) {
    if ((settings.has_single_source ? 0 : chain % ranks) != rank) continue;
    if (settings.injection > 0) {
      const auto due = begin + static_cast<std::int64_t>(1e9 * started / settings.injection);
      // Asleep, since this thread and the worker may share a core; what is late is made up for.
      if (const std::int64_t left = due - now_ns(); left > 0)
        std::this_thread::sleep_for(std::chrono::nanoseconds(left));
    }
    ++started;
    std::vector<double> buffer(settings.bytes / sizeof(double));
    for (std::size_t index = 0; index < buffer.size(); ++index) buffer[index] = first_value(chain, index);
    now->began[chain] = now_ns();
    const Position at{chain, 0, runtime.rank(), (runtime.rank() + 1) % runtime.size()};
    runtime.apply(runtime.rank(), action<&step>, at, std::move(buffer));
  }
}

struct Report {
  std::uint64_t steps = 0;
  std::uint64_t wrong = 0;
  std::vector<double> seconds;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(steps, wrong, seconds);
  }
};
Report report_here() {
  Report report{now->steps, now->wrong, {}};
  for (const double seconds : now->seconds)
    if (seconds > 0) report.seconds.push_back(seconds);
  return report;
}

void prepare(Runtime& runtime, const Settings& settings) {
  now = std::make_unique<Iteration>();
  now->settings = settings;
  now->began.resize(settings.chains);
  now->seconds.resize(settings.chains);
  for (std::uint32_t chain = 0; chain < settings.chains; ++chain)
    if ((settings.has_single_source ? 0 : chain % static_cast<std::uint32_t>(runtime.size())) ==
        static_cast<std::uint32_t>(runtime.rank()))
      ++now->own;
}

/// Runs one iteration; the seconds that it took, on rank 0.
double iterate(Runtime& runtime, const Settings& settings) {
  prepare(runtime, settings);
  auto all_done = now->all_done.future();
  runtime.barrier();
  const std::int64_t begin = now_ns();
  if (now->own == 0)
    runtime.apply(0, action<&rank_is_done>);
  else
    start_chains(runtime);
  if (runtime.rank() != 0) return 0;
  all_done.get();
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

void check(std::uint64_t steps, std::uint64_t wrong, const Settings& settings) {
  const std::uint64_t expected = std::uint64_t{settings.chains} * settings.steps;
  if (steps != expected)
    throw Error(fmt::format("{} steps were made where {} chains of {} steps make {}", steps, settings.chains,
                            settings.steps, expected));
  if (wrong != 0)
    throw Error(fmt::format("{} buffer elements are not what the recurrence makes them", wrong));
}

}  // namespace

Json run_chains(Runtime& runtime, const Json& parameters) {
  Grain::calibrate();
  Settings settings;
  settings.chains = parameters.value("chains", settings.chains);
  settings.steps = parameters.value("steps", settings.steps);
  settings.bytes = parameters.value("bytes", settings.bytes);
  settings.grain_ns = parameters.value("grain_ns", settings.grain_ns);
  settings.sweeps = parameters.value("sweep", settings.sweeps);
  settings.has_single_source = parameters.value("single_source", settings.has_single_source);
  settings.injection = parameters.value("injection", settings.injection);
  const int iterations = parameters.value("iterations", 1);
  for (int warm_up = parameters.value("warm_ups", 1); warm_up > 0; --warm_up) {
    iterate(runtime, settings);
    runtime.wait_quiet();
  }
  CountersOf counters(runtime);
  std::vector<double> latencies;
  std::vector<double> elapsed;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    elapsed.push_back(iterate(runtime, settings));
    runtime.wait_quiet();
    if (runtime.rank() == 0) {
      std::uint64_t steps = 0;
      std::uint64_t wrong = 0;
      for (int rank = 0; rank < runtime.size(); ++rank) {
        const Report report = runtime.async(rank, action<&report_here>).get();
        steps += report.steps;
        wrong += report.wrong;
        for (const double seconds : report.seconds) latencies.push_back(1e6 * seconds / settings.steps);
      }
      check(steps, wrong, settings);
    }
    runtime.barrier();
  }
  Json figures;
  figures["counters"] = counters.changes();
  if (runtime.rank() != 0) return figures;
  double total = 0;
  for (const double seconds : elapsed) total += seconds;
  const double steps = static_cast<double>(settings.chains) * settings.steps * iterations;
  add_distribution(figures, "latency_us", std::move(latencies));
  figures["steps_per_s"] = steps / total;
  figures["bytes_per_s"] = steps / total * settings.bytes;
  figures["elapsed_s"] = total / iterations;
  figures["efficiency"] = steps * settings.grain_ns * 1e-9 / (total * runtime.size() * runtime.workers());
  return figures;
}

}  // namespace weft::tools::study
