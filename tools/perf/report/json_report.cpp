#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <nlohmann/json.hpp>

#include "common/stopwatch.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"median", spread.median},
          {"min", spread.low},
          {"max", spread.high},
          {"rounds", spread.count},
          {"interval", {spread.interval_low, spread.interval_high}},
          {"confidence", spread.confidence}};
}

Json json_of(const MachineState& state) {
  return {{"cores", distance_of(state)}, {"low_ns", state.low_ns}, {"high_ns", state.high_ns}};
}

Json json_of(const Round& round, Workload workload) {
  Json json = {{"value", round.value},         {"core_share", round.core_share},
               {"before_ns", round.before_ns}, {"after_ns", round.after_ns},
               {"kept", round.kept},           {"state", round.state ? Json(*round.state) : Json(nullptr)}};
  if (round.sender > 0) json["sender"] = round.sender;
  if (workload == Workload::solo || workload == Workload::solo_shared) {
    json["alone"] = Json::array();
    json["together"] = Json::array();
    for (std::size_t i = 0; i + 1 < round.parts.size(); i += 2) {
      json["alone"].push_back(round.parts[i]);
      json["together"].push_back(round.parts[i + 1]);
    }
  }
  if (const std::vector<double>& times = round.percentiles_ns; times.size() == 3)
    json["percentiles"] = {{"50", times[0]}, {"99", times[1]}, {"99.9", times[2]}};
  if (info_of(workload).threads > 1) json["threads"] = round.parts;
  if (workload == Workload::wake_up && round.parts.size() == 3)
    json["percentiles"] = {{"50", round.parts[0]}, {"90", round.parts[1]}, {"99", round.parts[2]}};
  if (workload == Workload::matching && round.parts.size() == 2) {
    json["posting_ns"] = round.parts[0];
    json["shortest_ns"] = round.parts[1];
  }
  if (is_window(workload) && !round.parts.empty()) json["median_window"] = round.parts[0];
  return json;
}

Json json_of(const Series& series, const Results& results) {
  const Measurement& measurement = *series.measurement;
  Json rounds = Json::array();
  for (const Round& round : series.rounds) rounds.push_back(json_of(round, measurement.workload));
  Json json = {{"name", measurement.name},
               {"description", measurement.description()},
               {"size", series.variant.size},
               {"window", series.variant.window},
               {"ranks", series.variant.ranks},
               {"unit", unit_of(measurement.workload)},
               {"figure", json_of(spread_of(series))},
               {"left_out", left_out(series)},
               {"disturbed", series.disturbed}};
  if (measurement.workload == Workload::solo) {
    json["threads"] = Json::array();
    for (std::size_t thread = 0; thread < 2; ++thread)
      json["threads"].push_back(json_of(thread_ratio_of(series, thread)));
  } else {
    json["ratio_to_bare_limit"] = json_of(ratio_of(series, limit_of(results, series)));
    const Series* peer = best_peer_of(results, series);
    json["best_peer"] = peer == nullptr ? Json(nullptr) : Json(peer->measurement->name);
    json["ratio_to_best_peer"] = json_of(ratio_of(series, peer));
  }
  json["figure_by_state"] = Json::array();
  for (std::size_t state = 0; state < results.states.size(); ++state)
    json["figure_by_state"].push_back(json_of(spread_in_state(series, state)));
  json["rounds"] = std::move(rounds);
  return json;
}

Json json_of(const Judged& judged) {
  return {{"measurement", judged.series->measurement->name},
          {"figure", text_of(judged.bar->figure)},
          {"base", judged.base == nullptr ? Json(nullptr) : Json(judged.base->measurement->name)},
          {"ratio", json_of(judged.ratio)},
          {"must", judged.bar->must},
          {"aim", judged.bar->aim},
          {"verdict", text_of(judged.verdict)},
          {"reason", judged.reason.empty() ? Json(nullptr) : Json(judged.reason)}};
}

}  // namespace

std::string as_json(const Results& results) {
  const Topology host = read_topology();
  Json measurements = Json::array();
  for (const Series& series : results.series) measurements.push_back(json_of(series, results));
  Json bars = Json::array();
  for (const Judged& each : judge_bars(results)) bars.push_back(json_of(each));
  Json states = Json::array();
  for (std::size_t state = 0; state < results.states.size(); ++state) {
    states.push_back(json_of(results.states[state]));
    states.back()["rounds"] = rounds_in_state(results, state);
  }
  const Json root = {
      {"version", library_version()},
      {"date", date_text()},
      {"host",
       {{"processor", host.processor}, {"cores", host.cores.size()}, {"bound_to", results.processors}}},
      {"settings",
       {{"rounds", results.options.rounds},
        {"seconds", results.options.seconds},
        {"minutes", results.options.minutes},
        {"warm_up", results.options.warm_up.value_or(warm_up_of(results.options.seconds))},
        {"compute_ns", results.options.compute_ns},
        {"fresh", results.options.fresh},
        {"progress_thread", results.options.progress_thread},
        {"pin", results.options.pins ? "core" : "none"},
        {"seed", results.options.seed}}},
      {"state", json_of(results.state)},
      {"states", std::move(states)},
      {"other_programs", results.others},
      {"comparable", !is_disturbed(results)},
      {"remarks", results.remarks},
      {"bars", std::move(bars)},
      {"measurements", std::move(measurements)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools::perf
