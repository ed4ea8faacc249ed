#include "study/matching/live.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <fstream>

#include "experiment/launch/scratch_folder.hpp"
#include "experiment/launch/weft_path.hpp"
#include "study/launch/study_launch.hpp"
#include "study/launch/variants.hpp"
#include "study/matching/ranks/halo_run.hpp"
#include "study/matching/replay.hpp"

namespace weft::tools::study {

namespace {

/// Messages that fit into lanes and credits before any is received.
constexpr std::uint64_t kMostMessages = 65'536;

void check_size(const LivePlan& plan) {
  for (const Decomposition& decomposition : plan.decompositions)
    if (const std::uint64_t messages = count_halo(decomposition).messages; messages > kMostMessages)
      throw Error(fmt::format("{}: live modes take up to {} messages, and it has {}; replays take more",
                              name_of(decomposition), kMostMessages, messages));
}

/// Makes the file that ReadySigns map.
std::string make_signs(const ScratchFolder& folder) {
  std::string path = folder.path() + "/signs";
  std::ofstream file(path, std::ios::binary);
  file << std::string(ReadySigns::kBytes, '\0');
  if (!file.flush()) throw Error(path + " cannot be written");
  return path;
}

Json case_of(const std::string& engine, const Decomposition& decomposition, const LivePlan& plan,
             bool has_counters) {
  return {{"engine", engine},          {"decomposition", name_of(decomposition)},
          {"senders", plan.senders},   {"unexpected", plan.is_unexpected},
          {"counters", has_counters},  {"runs", plan.runs},
          {"warm_ups", plan.warm_ups}, {"seed", plan.seed}};
}

std::vector<Json> run_cases(const std::string& name, const char* kind,
                            const std::vector<std::string>& launcher, const LivePlan& plan,
                            const Json& cases) {
  constexpr double kSecondsOfCase = 120;
  check_size(plan);
  const ScratchFolder folder;
  const Json job = {
      {"matching", kind}, {"ranks", 1 + plan.senders}, {"signs", make_signs(folder)}, {"cases", cases}};
  std::vector<Json> answers =
      run_ranks(name, launcher, job, 30 + kSecondsOfCase * static_cast<double>(cases.size()));
  if (answers.size() != cases.size())
    throw Error(fmt::format("{}: {} of {} cases have answered", name, answers.size(), cases.size()));
  return answers;
}

MatchingRow row_of(const std::string& engine, const Decomposition& decomposition, const LivePlan& plan) {
  MatchingRow row;
  row.mode = plan.is_unexpected ? "unexpected" : "live";
  row.engine = engine;
  row.scenario = name_of(decomposition);
  row.counts = count_halo(decomposition);
  row.threads = threads_of(decomposition);
  row.senders = plan.senders;
  return row;
}

}  // namespace

std::vector<MatchingRow> live_over_weft(const StudyEngine& engine, const LivePlan& plan) {
  const std::string name(engine.name);
  Json cases = Json::array();
  for (const Decomposition& decomposition : plan.decompositions)
    for (const bool has_counters : {true, false})
      cases.push_back(
          case_of(engine.file.empty() ? name : std::string(engine.file), decomposition, plan, has_counters));
  const std::vector<Json> answers = run_cases(name, "weft", {weft_path(), "run"}, plan, cases);
  std::vector<MatchingRow> rows;
  for (std::size_t index = 0; index < plan.decompositions.size(); ++index) {
    const Json& counted = answers[2 * index];
    MatchingRow row = row_of(name, plan.decompositions[index], plan);
    row.mean_depth = counted.at("depth");
    row.depth = spread_of({row.mean_depth});
    row.length = spread_of({counted.at("length").get<double>()});
    row.deepest = counted.at("deepest");
    row.longest = counted.at("longest");
    row.search_ns = spread_of({counted.at("search_ns").get<double>()});
    row.lock_misses = counted.at("lock_misses");
    row.drain_us = spread_of(answers[2 * index + 1].at("drain_us").get<std::vector<double>>());
    if (engine.name == "list" && !plan.is_unexpected)
      row.simulated = interleaved_depth(plan.decompositions[index], plan.seed);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<MatchingRow> live_over_mpi(const std::string& launcher, const LivePlan& plan) {
  Json cases = Json::array();
  for (const Decomposition& decomposition : plan.decompositions)
    cases.push_back(case_of(launcher, decomposition, plan, false));
  const std::vector<Json> answers = run_cases(launcher, "mpi", variant_of(launcher).launcher, plan, cases);
  std::vector<MatchingRow> rows;
  for (std::size_t index = 0; index < plan.decompositions.size(); ++index) {
    MatchingRow row =
        row_of(answers[index].at("library").get<std::string>(), plan.decompositions[index], plan);
    row.drain_us = spread_of(answers[index].at("drain_us").get<std::vector<double>>());
    rows.push_back(std::move(row));
  }
  return rows;
}

double interleaved_depth(const Decomposition& decomposition, std::uint64_t seed) {
  constexpr int kRuns = 5;
  return replay(engine_named("list"), {.decomposition = decomposition,
                                       .order = ArrivalOrder::interleaved,
                                       .runs = kRuns,
                                       .seed = seed})
      .mean_depth;
}

}  // namespace weft::tools::study
