#include "study/matching/resources.hpp"

#include <weft/completion/queue.hpp>
#include <weft/device.hpp>
#include <weft/error.hpp>
#include <weft/runtime.hpp>
#include <weft/testing/in_process_job.hpp>

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "common/pinning.hpp"

namespace weft::tools::study {

namespace {

/// What one thread has done.
struct alignas(128) Tally {
  std::uint64_t pairs = 0;
  std::uint64_t contended = 0;
  std::optional<std::uint64_t> from_other_threads{};  // empty: nobody looks
};

/// A structure whose threads do not know of each other. Called by `thread` alone for its own part.
class Resource {
 public:
  Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource() = default;
  /// Puts something in and takes something out, `count` times.
  virtual void run(int thread, std::uint64_t count, Tally& tally) = 0;
};

class EngineResource final : public Resource {
 public:
  EngineResource(const StudyEngine& engine, int threads)
      : engine_(offline_options(engine, 4096, threads, false)) {}
  void run(int thread, std::uint64_t count, Tally& tally) override {
    constexpr std::uint64_t kTags = 64;
    for (std::uint64_t pair = 0; pair < count; ++pair) {
      engine_.post(pair, thread, pair % kTags);
      OfflineMatchingEngine::Result result = engine_.arrive(pair, thread, pair % kTags);
      while (result.answer == OfflineMatchingEngine::Answer::contended) {
        ++tally.contended;
        result = engine_.arrive(pair, thread, pair % kTags);
      }
      if (result.answer != OfflineMatchingEngine::Answer::matched || result.id != pair)
        throw Error("a message was not matched with its receive");
    }
  }

 private:
  OfflineMatchingEngine engine_;
};

class QueueResource final : public Resource {
 public:
  void run(int, std::uint64_t count, Tally& tally) override {
    for (std::uint64_t pair = 0; pair < count; ++pair) {
      Message message;
      queue_.signal(message);
      // Empty for a moment where other threads have not finished what they began.
      while (!queue_.pop(message)) ++tally.contended;
    }
  }

 private:
  CompletionQueue queue_;
};

class PoolResource final : public Resource {
 public:
  PoolResource() : job_(1), runtime_(job_, 0), device_(runtime_, {.index = 1}) {}
  void run(int thread, std::uint64_t count, Tally& tally) override {
    constexpr std::uint32_t kOfNobody = 0;
    if (!tally.from_other_threads) tally.from_other_threads = 0;
    const auto own = static_cast<std::uint32_t>(thread + 1);
    for (std::uint64_t pair = 0; pair < count; ++pair) {
      Packet packet = device_.get_packet();
      while (!packet) {
        ++tally.contended;
        packet = device_.get_packet();
      }
      std::uint32_t last = kOfNobody;
      std::memcpy(&last, packet.data(), sizeof last);
      if (last != kOfNobody && last != own) ++*tally.from_other_threads;
      std::memcpy(packet.data(), &own, sizeof own);
    }
  }

 private:
  InProcessJob job_;
  Runtime runtime_;
  Device device_;
};

/// Runs the threads for the given time, and adds what they have done to `total`. Returns pairs per
/// microsecond.
double run_once(Resource& resource, int threads, double seconds, Tally& total) {
  constexpr std::uint64_t kTogether = 256;
  const std::vector<int> processors = choose_processors(static_cast<std::size_t>(threads));
  std::atomic<bool> has_begun{false};
  std::atomic<bool> is_over{false};
  std::vector<Tally> tallies(static_cast<std::size_t>(threads));
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      pin_thread(processors, static_cast<std::size_t>(thread));
      has_begun.wait(false);
      Tally& tally = tallies[static_cast<std::size_t>(thread)];
      while (!is_over.load(std::memory_order_relaxed)) {
        resource.run(thread, kTogether, tally);
        tally.pairs += kTogether;
      }
    });
  const auto begin = std::chrono::steady_clock::now();
  has_begun = true;
  has_begun.notify_all();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  is_over = true;
  running.clear();  // joins
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  std::uint64_t pairs = 0;
  for (const Tally& tally : tallies) {
    pairs += tally.pairs;
    total.contended += tally.contended;
    if (tally.from_other_threads)
      total.from_other_threads = total.from_other_threads.value_or(0) + *tally.from_other_threads;
  }
  total.pairs += pairs;
  return static_cast<double>(pairs) / time.count();
}

}  // namespace

std::vector<ResourceRow> measure_resources(const std::vector<const StudyEngine*>& engines,
                                           const ResourcePlan& plan,
                                           const std::function<void(const std::string&)>& report) {
  std::vector<ResourceRow> rows;
  const auto measure = [&](const std::string& name, int threads, Resource& resource) {
    report(fmt::format("{}, {} thread{}", name, threads, threads == 1 ? "" : "s"));
    Tally total;
    run_once(resource, threads, plan.seconds / 4, total);  // warms up
    total = {};
    std::vector<double> rates;
    for (int run = 0; run < plan.runs; ++run)
      rates.push_back(run_once(resource, threads, plan.seconds, total));
    const auto of_thousand = [&](std::uint64_t count) {
      return 1000 * static_cast<double>(count) / static_cast<double>(total.pairs);
    };
    rows.push_back(
        {name, threads, spread_of(std::move(rates)), of_thousand(total.contended),
         total.from_other_threads ? std::optional(of_thousand(*total.from_other_threads)) : std::nullopt});
  };
  for (const int threads : plan.threads) {
    for (const StudyEngine* engine : engines) {
      EngineResource resource(*engine, threads);
      measure(fmt::format("matching engine {}", engine->name), threads, resource);
    }
    QueueResource queue;
    measure("completion queue", threads, queue);
    PoolResource pool;
    measure("packet pool", threads, pool);
  }
  return rows;
}

}  // namespace weft::tools::study
