#include "study/matching/soak.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace weft::tools::study {

namespace {

constexpr std::uint32_t kKeys = 16;      // of a thread
constexpr std::uint64_t kMostAhead = 8;  // receives, or messages, of a key that wait at a time

/// One thread's part: the n-th message of a key belongs to the n-th receive of that key.
class SoakThread {
 public:
  SoakThread(OfflineMatchingEngine& engine, int source, std::uint64_t seed)
      : engine_(engine), source_(source), random_(seed) {}

  /// Returns when `messages` have arrived, and as many receives were posted, and all are matched.
  void run(std::uint64_t messages, std::atomic<std::uint64_t>& done) {
    constexpr std::uint64_t kToldTogether = 65'536;
    for (std::uint64_t begun = 0; begun < messages;) {
      const std::uint64_t bits = random_();
      Key& key = keys_[bits % kKeys];
      const bool posts = (bits >> 32 & 1) != 0;
      // Neither side runs far ahead of the other.
      if (posts ? key.posted >= key.arrived + kMostAhead : key.arrived >= key.posted + kMostAhead) continue;
      if (posts) {
        post(key);
      } else {
        arrive(key);
        if (++begun % kToldTogether == 0) done.fetch_add(kToldTogether, std::memory_order_relaxed);
      }
    }
    for (Key& key : keys_) {
      while (key.posted < key.arrived) post(key);
      while (key.arrived < key.posted) arrive(key);
      if (key.matched != key.posted)
        throw Error(fmt::format("source {}, tag {}: {} of {} messages were matched", source_, tag_of(key),
                                key.matched, key.posted));
    }
  }

 private:
  struct Key {
    std::uint64_t posted = 0;
    std::uint64_t arrived = 0;
    std::uint64_t matched = 0;
  };

  void post(Key& key) {
    const std::uint64_t number = ++key.posted;
    note(key, number, engine_.post(number, source_, tag_of(key)));
  }
  void arrive(Key& key) {
    const std::uint64_t number = ++key.arrived;
    OfflineMatchingEngine::Result result;
    do {
      result = engine_.arrive(number, source_, tag_of(key));
    } while (result.answer == OfflineMatchingEngine::Answer::contended);
    note(key, number, result);
  }
  void note(Key& key, std::uint64_t number, OfflineMatchingEngine::Result result) {
    if (result.answer == OfflineMatchingEngine::Answer::waits) return;
    if (result.answer != OfflineMatchingEngine::Answer::matched)
      throw Error(fmt::format("source {}, tag {}: there was no record left", source_, tag_of(key)));
    if (result.id != number || result.id != ++key.matched)
      throw Error(fmt::format("source {}, tag {}: number {} was matched with number {}", source_, tag_of(key),
                              number, result.id));
  }
  [[nodiscard]] std::uint64_t tag_of(const Key& key) const {
    return static_cast<std::uint64_t>(&key - keys_.data()) * 1000;
  }

  OfflineMatchingEngine& engine_;
  const int source_;
  std::mt19937_64 random_;
  std::array<Key, kKeys> keys_{};
};

}  // namespace

SoakRow soak(const StudyEngine& kind, const SoakPlan& plan, const std::function<void(double)>& report) {
  OfflineMatchingEngine engine(offline_options(
      kind, 2 * kKeys * kMostAhead * static_cast<std::uint64_t>(plan.threads), plan.threads, false));
  std::atomic<std::uint64_t> done{0};
  std::atomic<int> running{plan.threads};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < plan.threads; ++thread)
    threads.emplace_back([&, thread] {
      const auto number = static_cast<std::uint64_t>(thread);
      const auto count = static_cast<std::uint64_t>(plan.threads);
      try {
        SoakThread(engine, thread, plan.seed * 1000 + number)
            .run(plan.messages * (number + 1) / count - plan.messages * number / count, done);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
      --running;
    });
  while (running.load() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    report(static_cast<double>(done.load()) / static_cast<double>(plan.messages));
  }
  threads.clear();  // joins
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: {}", kind.name, error.what()));
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {std::string(kind.name), plan.messages, time.count()};
}

}  // namespace weft::tools::study
