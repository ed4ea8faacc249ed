#include "study/matching/trace_replay.hpp"

#include <weft/error.hpp>
#include <weft/matching/algorithm.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace weft::tools::study {

namespace {

constexpr std::string_view kHeader = "# weft matching trace 1, ";

/// Reads one line. Returns false when it is not one of a trace.
bool read_step(const std::string& line, TraceStep& step) {
  std::istringstream words(line);
  std::string kind;
  unsigned policy = 0;
  words >> kind >> step.engine;
  if (kind == "cancel") {
    step.kind = TraceStep::Kind::cancel;
    return static_cast<bool>(words >> std::hex >> step.identity) && words.peek() == EOF;
  }
  words >> step.source >> std::hex >> step.tag >> std::dec >> policy >> std::hex;
  if (kind == "post") {
    step.kind = TraceStep::Kind::post;
    words >> step.tag_mask >> step.identity;
  } else if (kind == "take") {
    step.kind = TraceStep::Kind::take;
    words >> step.tag_mask;
  } else if (kind == "arrive") {
    step.kind = TraceStep::Kind::arrive;
  } else {
    return false;
  }
  return !words.fail() && words.peek() == EOF;
}

/// The engines of one replay, by their ids in the trace.
class TraceEngines {
 public:
  TraceEngines(const StudyEngine& kind, const MatchingTrace& trace, bool has_counters) {
    for (const TraceStep& step : trace.steps)
      if (!engines_.contains(step.engine))
        engines_.emplace(step.engine, std::make_unique<OfflineMatchingEngine>(offline_options(
                                          kind, trace.steps.size(), trace.ranks, has_counters)));
  }

  /// Returns the microseconds of all steps, and the number of matches.
  std::pair<double, std::uint64_t> run(const MatchingTrace& trace) {
    std::unordered_map<std::uint64_t, ReceiveHandle> posted;
    std::uint64_t matches = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t index = 0; index < trace.steps.size(); ++index) {
      const TraceStep& step = trace.steps[index];
      OfflineMatchingEngine& engine = *engines_.at(step.engine);
      switch (step.kind) {
        case TraceStep::Kind::post: {
          ReceiveHandle handle;
          matches += count(engine.post(index, step.source, step.tag, step.tag_mask, &handle));
          if (step.identity != 0) posted[key_of(step)] = handle;
          break;
        }
        case TraceStep::Kind::arrive:
          matches += count(engine.arrive(index, step.source, step.tag));
          break;
        case TraceStep::Kind::cancel:
          if (const auto found = posted.find(key_of(step)); found != posted.end())
            engine.cancel(found->second);
          break;
        case TraceStep::Kind::take:
          matches += count(engine.take(step.source, step.tag, step.tag_mask));
          break;
      }
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    return {time.count(), matches};
  }

  [[nodiscard]] MatchingCounters counters() const {
    MatchingCounters sum;
    for (const auto& [id, engine] : engines_) {
      const MatchingCounters own = engine->counters();
      for (const auto& [total, part] :
           {std::pair{&sum.arrivals, &own.arrivals}, std::pair{&sum.posts, &own.posts}}) {
        total->count += part->count;
        total->matched += part->matched;
        total->compared += part->compared;
        total->nanoseconds += part->nanoseconds;
        total->waiting += part->waiting;
        total->deepest = std::max(total->deepest, part->deepest);
        total->most_waiting = std::max(total->most_waiting, part->most_waiting);
      }
      sum.lock_misses += own.lock_misses;
    }
    return sum;
  }

 private:
  /// 1 for a match, else 0.
  static std::uint64_t count(OfflineMatchingEngine::Result result) {
    if (result.answer == OfflineMatchingEngine::Answer::exhausted)
      throw Error("more receives and messages of the trace wait at a time than an engine has records");
    return result.answer == OfflineMatchingEngine::Answer::matched ? 1 : 0;
  }
  static std::uint64_t key_of(const TraceStep& step) {
    return step.identity ^ std::uint64_t{step.engine} << 48;
  }
  std::map<std::uint32_t, std::unique_ptr<OfflineMatchingEngine>> engines_;
};

}  // namespace

bool MatchingTrace::has_wildcards() const {
  return std::any_of(steps.begin(), steps.end(), [](const TraceStep& step) {
    return step.kind != TraceStep::Kind::arrive && step.kind != TraceStep::Kind::cancel &&
           MatchPattern{step.source, step.tag, step.tag_mask}.has_wildcard();
  });
}

MatchingTrace read_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  MatchingTrace trace;
  trace.name = std::filesystem::path(path).filename().string();
  std::string line;
  int rank = 0;
  if (!std::getline(file, line) || !line.starts_with(kHeader) ||
      std::sscanf(line.c_str() + kHeader.size(), "rank %d of %d", &rank, &trace.ranks) != 2 ||
      trace.ranks < 1)
    throw Error(fmt::format("{}: it is no matching trace: its first line does not begin with '{}rank'", path,
                            kHeader));
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    TraceStep step;
    if (!read_step(line, step))
      throw Error(fmt::format("{}:{}: '{}' is no step of a matching trace", path, number, line));
    const bool may_be_any = step.engine >= kMatchingEngines && step.kind != TraceStep::Kind::arrive;
    const bool is_any = step.source == any_source && may_be_any;
    if (step.kind != TraceStep::Kind::cancel && !is_any && (step.source < 0 || step.source >= trace.ranks))
      throw Error(fmt::format("{}:{}: source {} is not one of the {} ranks of the trace", path, number,
                              step.source, trace.ranks));
    trace.steps.push_back(step);
  }
  if (trace.steps.empty()) throw Error(fmt::format("{}: the trace has no events", path));
  return trace;
}

MatchingRow replay_trace(const StudyEngine& engine, const MatchingTrace& trace, int runs) {
  MatchingRow row;
  row.mode = "trace";
  row.engine = engine.name;
  row.scenario = trace.name;
  row.counts.messages = static_cast<std::uint64_t>(
      std::count_if(trace.steps.begin(), trace.steps.end(),
                    [](const TraceStep& step) { return step.kind == TraceStep::Kind::arrive; }));
  if (!engine.is_ordered && trace.has_wildcards()) {
    row.remark = "the trace has wildcards";
    return row;
  }
  TraceEngines counted(engine, trace, true);
  row.matches = counted.run(trace).second;
  const MatchingCounters counters = counted.counters();
  const std::uint64_t searches = counters.arrivals.count + counters.posts.count;
  if (searches != 0) {
    const auto per_search = [&](std::uint64_t sum) {
      return static_cast<double>(sum) / static_cast<double>(searches);
    };
    row.mean_depth = per_search(counters.arrivals.compared + counters.posts.compared);
    row.depth = spread_of({row.mean_depth});
    row.length = spread_of({per_search(counters.arrivals.waiting + counters.posts.waiting)});
    row.search_ns = spread_of({per_search(counters.arrivals.nanoseconds + counters.posts.nanoseconds)});
  }
  row.deepest = std::max(counters.arrivals.deepest, counters.posts.deepest);
  row.longest = std::max(counters.arrivals.most_waiting, counters.posts.most_waiting);
  std::vector<double> times_us;
  for (int run = 0; run < runs; ++run) {
    TraceEngines timed(engine, trace, false);
    times_us.push_back(timed.run(trace).first);
  }
  row.drain_us = spread_of(std::move(times_us));
  return row;
}

}  // namespace weft::tools::study
