#include "study/matching/replay.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace weft::tools::study {

namespace {

constexpr std::array kOrders{
    std::pair{ArrivalOrder::in_order, "in-order"}, std::pair{ArrivalOrder::reversed, "reversed"},
    std::pair{ArrivalOrder::random, "random"}, std::pair{ArrivalOrder::interleaved, "interleaved"}};

/// What a search costs a list, whatever the machine: all receives are posted, and the messages arrive in this
/// order. With k receives left, a message that may be any of them compares (k + 1) / 2 on average.
std::optional<double> list_bound(ArrivalOrder order, std::uint64_t messages) {
  const auto count = static_cast<double>(messages);
  switch (order) {
    case ArrivalOrder::in_order:
      return 1;
    case ArrivalOrder::reversed:
      return (count + 1) / 2;
    case ArrivalOrder::random:
      return (count + 3) / 4;
    case ArrivalOrder::interleaved:
      break;
  }
  return std::nullopt;
}

/// Runs with counters: as many as the plan says, and at least so many that the mean of random orders comes
/// within 3 % of its bound. The depth of one such order differs from it by a share of 2 / (3 sqrt(M)).
int counted_runs(const ReplayPlan& plan, std::uint64_t messages) {
  constexpr double kDeviation = 0.006;  // a fifth of 3 %
  const double needed = 4 / (9 * kDeviation * kDeviation * static_cast<double>(messages));
  const bool is_random = plan.order == ArrivalOrder::random || plan.order == ArrivalOrder::interleaved;
  return is_random ? std::max(plan.runs, static_cast<int>(std::ceil(needed))) : plan.runs;
}

/// An exchange with everything that the timed loop needs laid out in the order in which it is needed.
class Replay {
 public:
  Replay(const HaloExchange& exchange, const ReplayPlan& plan, std::uint64_t seed)
      : exchange_(exchange), senders_(plan.senders) {
    const std::vector<std::uint64_t> tags = strided_tags(exchange);
    const MessageOrder posted = plan.order == ArrivalOrder::interleaved ? posted_concurrently(exchange, seed)
                                                                        : posted_in_turns(exchange);
    posts_ = steps_of(posted, tags);
    arrivals_ = steps_of(arrival_order(exchange, posted, plan.order, seed), tags);
  }

  /// Returns the microseconds until the last message was matched.
  double run(OfflineMatchingEngine& engine) const {
    for (const Step& step : posts_) {
      const auto result = engine.post(step.message, step.source, step.tag);
      if (result.answer != OfflineMatchingEngine::Answer::waits)
        throw Error("a receive was matched before its message had come");
    }
    std::uint64_t wrong = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (const Step& step : arrivals_) {
      const auto result = engine.arrive(step.message, step.source, step.tag);
      wrong += result.answer != OfflineMatchingEngine::Answer::matched || result.id != step.message ? 1 : 0;
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (wrong != 0) throw Error(fmt::format("{} messages were matched with wrong receives, or none", wrong));
    return time.count();
  }

 private:
  struct Step {
    std::uint64_t tag;
    std::uint32_t message;
    int source;
  };
  [[nodiscard]] std::vector<Step> steps_of(const MessageOrder& order,
                                           const std::vector<std::uint64_t>& tags) const {
    std::vector<Step> steps;
    steps.reserve(order.size());
    for (const std::uint32_t message : order)
      steps.push_back(
          {tags[message], message,
           static_cast<int>(exchange_.messages[message].sender % static_cast<std::uint32_t>(senders_))});
    return steps;
  }

  const HaloExchange& exchange_;
  const int senders_;
  std::vector<Step> posts_;
  std::vector<Step> arrivals_;
};

}  // namespace

const char* name_of(ArrivalOrder order) {
  return std::find_if(kOrders.begin(), kOrders.end(), [&](const auto& each) { return each.first == order; })
      ->second;
}

ArrivalOrder arrival_order_named(std::string_view name) {
  for (const auto& [order, its_name] : kOrders)
    if (name == its_name) return order;
  throw Error(
      fmt::format("there is no order '{}'; there are in-order, reversed, random and interleaved", name));
}

MatchingRow replay(const StudyEngine& engine, const ReplayPlan& plan) {
  const HaloExchange exchange = enumerate_halo(plan.decomposition);
  MatchingRow row;
  row.mode = "replay";
  row.engine = engine.name;
  row.scenario = name_of(plan.decomposition);
  row.threads = threads_of(plan.decomposition);
  row.order = name_of(plan.order);
  row.counts = exchange.counts;
  row.senders = plan.senders;
  if (engine.name == "list") {
    row.bound = list_bound(plan.order, exchange.counts.messages);
    if (plan.order == ArrivalOrder::random) row.tolerance = 0.03;
  }
  std::vector<double> depths;
  std::vector<double> lengths;
  std::vector<double> searches_ns;
  std::vector<double> times_us;
  OfflineMatchingEngine timed(offline_options(engine, exchange.counts.messages, plan.senders, false));
  OfflineMatchingEngine counted(offline_options(engine, exchange.counts.messages, plan.senders, true));
  MatchSearches before;
  const int counted_end = counted_runs(plan, exchange.counts.messages);
  for (int run = -1; run < counted_end; ++run) {  // the first warms up
    const Replay replay(exchange, plan, plan.seed + static_cast<std::uint64_t>(run + 1));
    if (run < plan.runs) {
      const double microseconds = replay.run(timed);
      if (run < 0) continue;
      times_us.push_back(microseconds);
    }
    replay.run(counted);
    const MatchSearches now = counted.counters().arrivals;
    const auto count = static_cast<double>(now.count - before.count);
    depths.push_back(static_cast<double>(now.compared - before.compared) / count);
    lengths.push_back(static_cast<double>(now.waiting - before.waiting) / count);
    searches_ns.push_back(static_cast<double>(now.nanoseconds - before.nanoseconds) / count);
    before = now;
  }
  row.deepest = before.deepest;
  row.longest = before.most_waiting;
  row.lock_misses = counted.counters().lock_misses;
  row.mean_depth = std::accumulate(depths.begin(), depths.end(), 0.0) / static_cast<double>(depths.size());
  row.depth = spread_of(std::move(depths));
  row.length = spread_of(std::move(lengths));
  row.search_ns = spread_of(std::move(searches_ns));
  row.drain_us = spread_of(std::move(times_us));
  return row;
}

}  // namespace weft::tools::study
