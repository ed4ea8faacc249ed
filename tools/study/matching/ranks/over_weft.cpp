// Live modes over weft: the messages of an exchange drain into an engine of the study.
#include <weft/completion/counter.hpp>
#include <weft/endpoint.hpp>
#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <fmt/core.h>

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "study/matching/model/study_engines.hpp"
#include "study/matching/ranks/halo_run.hpp"
#include "study/matching/ranks/live_ranks.hpp"

namespace weft::tools::study {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// One rank of one case.
class WeftCase {
 public:
  WeftCase(Runtime& runtime, Endpoint& endpoint, ReadySigns& signs, const HaloCase& plan,
           std::uint16_t number)
      : runtime_(runtime),
        endpoint_(endpoint),
        signs_(signs),
        plan_(plan),
        engine_(runtime, engine_options(engine_named(plan.engine), number, plan.has_counters)),
        threads_(plan.threads_of(runtime.rank())),
        buffers_(plan.tags.size()) {}

  /// `step`: the number of the run among all runs of the job.
  void send(std::uint32_t step) {
    std::atomic<std::uint32_t> refused{0};
    run_threads(
        threads_, plan_.seed + step, [this] { runtime_.barrier(); },
        [&](std::uint32_t message) {
          while (endpoint_
                     .post_send(0, plan_.tags[message], bytes_of(plan_.tags[message]),
                                {.engine = engine_.id(), .may_complete_now = true})
                     .is_retry()) {
            // What does not fit before the receiver begins is sent while it drains.
            if (refused.fetch_add(1, std::memory_order_relaxed) == kMostRefused)
              signs_.raise(runtime_.rank(), step);
            endpoint_.progress();
            ::sched_yield();
          }
        });
    endpoint_.progress();
    signs_.raise(runtime_.rank(), step);
  }

  /// Returns the microseconds until all messages were matched.
  double receive(std::uint32_t step) {
    counter_.reset();
    for (std::uint64_t& buffer : buffers_) buffer = ~std::uint64_t{0};
    const double time_us = plan_.is_unexpected ? receive_afterwards(step) : receive_posted(step);
    for (std::size_t message = 0; message < buffers_.size(); ++message)
      if (buffers_[message] != plan_.tags[message])
        throw Error(fmt::format("{}: the receive with tag {} has got the message with tag {}", plan_.engine,
                                plan_.tags[message], buffers_[message]));
    return time_us;
  }

  [[nodiscard]] MatchingCounters counters() const { return engine_.counters(); }

 private:
  static constexpr std::uint32_t kMostRefused = 10'000;

  void post(std::uint32_t message) {
    const std::uint64_t tag = plan_.tags[message];
    const std::span<std::byte> buffer = std::as_writable_bytes(std::span(&buffers_[message], 1));
    while (endpoint_
               .post_receive(plan_.source_of(message), tag, buffer,
                             {.completion = &counter_, .engine = engine_.id()})
               .is_retry())
      endpoint_.progress();
  }

  double receive_posted(std::uint32_t step) {
    run_threads(
        threads_, plan_.seed + step, [] {}, [this](std::uint32_t message) { post(message); });
    runtime_.barrier();
    signs_.wait_for(plan_.senders, step);
    const auto begin = Clock::now();
    while (counter_.value() < buffers_.size()) endpoint_.progress();
    return microseconds_since(begin);
  }

  double receive_afterwards(std::uint32_t step) {
    runtime_.barrier();
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (runtime_.counters().unexpected_now < buffers_.size()) {
      endpoint_.progress();
      if (Clock::now() > end) throw Error("the messages have not come within a minute");
    }
    signs_.wait_for(plan_.senders, step);
    const double time_us =
        time_posts(threads_, plan_.seed + step, [this](std::uint32_t message) { post(message); });
    while (counter_.value() < buffers_.size()) endpoint_.progress();
    return time_us;
  }

  Runtime& runtime_;
  Endpoint& endpoint_;
  ReadySigns& signs_;
  const HaloCase& plan_;
  MatchingEngine engine_;
  Counter counter_;
  const std::vector<MessageOrder> threads_;
  std::vector<std::uint64_t> buffers_;  // by message
};

Json json_of(const MatchSearches& searches) {
  return {{"depth", searches.mean_depth()},
          {"deepest", searches.deepest},
          {"length", searches.mean_waiting()},
          {"longest", searches.most_waiting},
          {"search_ns", searches.count == 0 ? 0.0
                                            : static_cast<double>(searches.nanoseconds) /
                                                  static_cast<double>(searches.count)}};
}

}  // namespace

void run_over_weft(const Json& job) {
  // Room for every message of the largest exchange before any is received; and one lane, in which messages
  // stay in the order of their sends.
  const std::array attributes{
      AttributeSetting{"unexpected_credits", "65536"}, AttributeSetting{"lane_slots", "4096"},
      AttributeSetting{"lane_slots_max", "65536"},     AttributeSetting{"thread_lanes", "1"},
      AttributeSetting{"matching_records", "131072"},  AttributeSetting{"matching_buckets", "32768"}};
  Runtime runtime({.attributes = attributes});
  Endpoint endpoint{runtime};
  ReadySigns signs(job.at("signs"));
  std::uint32_t step = 0;
  std::uint16_t number = 0;
  constexpr std::uint16_t kNumbers = 200;
  for (const Json& parameters : job.at("cases")) {
    const HaloCase plan(parameters);
    if (runtime.size() != 1 + plan.senders)
      throw Error(fmt::format("the job has {} ranks instead of {}", runtime.size(), 1 + plan.senders));
    number = static_cast<std::uint16_t>(number % kNumbers + 1);
    WeftCase own(runtime, endpoint, signs, plan, number);
    runtime.barrier();  // before it, messages would come to an engine without algorithm and counters
    std::vector<double> times_us;
    for (int run = -plan.warm_ups; run < plan.runs; ++run) {
      ++step;
      if (runtime.rank() != 0) {
        own.send(step);
      } else if (const double time_us = own.receive(step); run >= 0) {
        times_us.push_back(time_us);
      }
    }
    if (runtime.rank() == 0) {
      Json figures = plan.has_counters
                         ? json_of(plan.is_unexpected ? own.counters().posts : own.counters().arrivals)
                         : Json::object();
      if (plan.has_counters) figures["lock_misses"] = own.counters().lock_misses;
      figures["drain_us"] = times_us;
      fmt::print("{}\n", figures.dump());
      std::fflush(stdout);
    }
    runtime.barrier();
  }
}

void live_ranks_main(const Json& job) {
  if (job.at("matching") == "mpi")
    run_over_mpi(job);
  else
    run_over_weft(job);
}

}  // namespace weft::tools::study
