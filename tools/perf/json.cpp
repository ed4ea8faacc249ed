#include <weft/version.hpp>

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/topology.hpp"
#include "perf/report.hpp"

namespace weft::tools::perf {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"median", spread.median}, {"min", spread.low}, {"max", spread.high}, {"rounds", spread.count}};
}

Json json_of(const Round& round, Workload workload) {
  Json json = {{"value", round.value},
               {"core_share", round.core_share},
               {"before_ns", round.before_ns},
               {"after_ns", round.after_ns},
               {"kept", round.kept}};
  if (round.sender > 0) json["sender"] = round.sender;
  if (workload == Workload::solo) {
    json["alone"] = Json::array();
    json["together"] = Json::array();
    for (std::size_t i = 0; i + 1 < round.parts.size(); i += 2) {
      json["alone"].push_back(round.parts[i]);
      json["together"].push_back(round.parts[i + 1]);
    }
  }
  return json;
}

const char* unit_of(Workload workload) {
  switch (workload) {
    case Workload::rate:
      return "messages/s";
    case Workload::latency:
      return "ns one way";
    case Workload::solo:
      return "smaller ratio of together to alone";
  }
  return "";
}

Json json_of(const Series& series, const Results& results) {
  const Measurement& measurement = *series.measurement;
  Json rounds = Json::array();
  for (const Round& round : series.rounds) rounds.push_back(json_of(round, measurement.workload));
  Json json = {{"name", measurement.name},
               {"description", measurement.description},
               {"unit", unit_of(measurement.workload)},
               {"figure", json_of(spread_of(series))},
               {"left_out", left_out(series)},
               {"disturbed", series.disturbed}};
  if (measurement.workload == Workload::solo) {
    json["threads"] = Json::array();
    for (std::size_t thread = 0; thread < 2; ++thread)
      json["threads"].push_back(json_of(thread_ratio_of(series, thread)));
  } else {
    json["ratio_to_bare_limit"] = json_of(ratio_of(series, limit_of(results, measurement)));
    json["ratio_to_ucx"] = json_of(ratio_of(series, ucx_of(results, measurement)));
  }
  json["rounds"] = std::move(rounds);
  return json;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields);
  return text;
}

}  // namespace

std::string as_json(const Results& results) {
  const base::Topology host = base::read_topology();
  Json measurements = Json::array();
  for (const Series& series : results.series) measurements.push_back(json_of(series, results));
  const Json root = {
      {"version", library_version()},
      {"date", date_text()},
      {"host",
       {{"processor", host.processor}, {"cores", host.cores.size()}, {"bound_to", results.processors}}},
      {"settings",
       {{"rounds", results.options.rounds},
        {"seconds", results.options.seconds},
        {"rate_size", results.options.size},
        {"latency_size", 8}}},
      {"state", {{"low_ns", results.state.low_ns}, {"high_ns", results.state.high_ns}}},
      {"remarks", results.remarks},
      {"measurements", std::move(measurements)}};
  return root.dump(2) + "\n";
}

}  // namespace weft::tools::perf
