#include "perf/libraries/catalogue.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text/parse.hpp"
#include "perf/libraries/participants.hpp"
#include "perf/libraries/transports.hpp"

namespace weft::tools::perf {
namespace {

std::vector<Measurement> make_catalogue() {
  std::vector<Measurement> all;
  for (const WorkloadInfo& workload : all_workloads()) {
    const auto add = [&](const std::vector<std::string_view>& names, bool further) {
      for (const std::string_view name : names) {
        const auto over = std::ranges::find(all_transports(), name, &Transport::name);
        all.push_back({fmt::format("{}/{}", workload.name, name), workload.workload, &*over, further});
      }
    };
    add(transports_of(workload.workload), false);
    add(further_transports_of(workload.workload), true);
  }
  return all;
}

bool means(std::string_view name, const Measurement& measurement) {
  return name == measurement.name || name == name_of(measurement.workload) ||
         name == measurement.transport() || (name == "all" && !measurement.further) ||
         (name == "polling" && !measurement.further && is_polling(measurement.workload)) ||
         (name == "streams" && is_streams(measurement.workload));
}

bool is_standard(const Measurement& measurement) {
  return !measurement.further &&
         (measurement.workload == Workload::rate || measurement.workload == Workload::latency ||
          measurement.workload == Workload::solo);
}

/// "did you mean NAME? ", or nothing when no name is near.
std::string suggestion_for(std::string_view name) {
  constexpr std::size_t kNear = 2;  // letters that differ
  std::string_view best;
  std::size_t least = kNear + 1;
  const auto look_at = [&](std::string_view each) {
    const std::size_t distance = base::edit_distance(name, each);
    if (distance < least) {
      least = distance;
      best = each;
    }
  };
  for (const Measurement& each : catalogue())
    for (const std::string_view known :
         {name_of(each.workload), each.transport(), std::string_view(each.name)})
      look_at(known);
  return best.empty() ? std::string() : fmt::format("did you mean {}? ", best);
}

/// A list that would fill more than two lines is printed elsewhere.
std::string listed(const std::string& names) {
  constexpr std::size_t kMost = 160;
  return names.size() <= kMost ? names : "`weft perf --list` shows them";
}

/// Lists the transports of the measurements, each once.
std::string transports_of_all(const std::vector<const Measurement*>& measurements) {
  std::vector<std::string_view> names;
  for (const Measurement* each : measurements)
    if (std::ranges::find(names, each->transport()) == names.end()) names.push_back(each->transport());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view library_of(const Transport& over) {
  if (over.role == Role::weft) return "weft";
  if (over.role == Role::limit) return "bare machine";
  if (over.name.starts_with("ucx") || over.name.starts_with("ucp")) return "UCX";
  if (over.name.starts_with("mpich")) return "MPICH";
  if (over.name.starts_with("openmpi")) return "Open MPI";
  return over.name.starts_with("ofi") ? "libfabric" : over.name;
}

std::string shown_name(const Transport& over) {
  std::string name(over.name);
  if (over.role == Role::limit) std::ranges::replace(name, '-', ' ');
  return name;
}

std::span<const Measurement> catalogue() {
  static const std::vector<Measurement> all = make_catalogue();
  return all;
}

const Measurement* find_measurement(std::string_view name) {
  const auto found = std::ranges::find(catalogue(), name, &Measurement::name);
  return found == catalogue().end() ? nullptr : &*found;
}

std::string_view name_of(Workload workload) { return info_of(workload).name; }

std::vector<const Measurement*> select_measurements(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::any_of(catalogue(), [&](const Measurement& each) { return means(name, each); }))
      continue;
    throw Error(
        fmt::format("--only {} is not valid: {}it must be all, a workload, a transport, or "
                    "WORKLOAD/TRANSPORT; `weft perf "
                    "--list` shows them",
                    name, suggestion_for(name)));
  }
  std::vector<const Measurement*> selected;
  for (const Measurement& measurement : catalogue()) {
    const bool wanted =
        names.empty()
            ? is_standard(measurement)
            : std::ranges::any_of(names, [&](const std::string& name) { return means(name, measurement); });
    if (wanted) selected.push_back(&measurement);
  }
  return selected;
}

std::vector<const Measurement*> keep_transports(const std::vector<const Measurement*>& measurements,
                                                const std::vector<std::string>& transports) {
  for (const std::string& name : transports) {
    if (std::ranges::any_of(measurements, [&](const Measurement* each) { return each->transport() == name; }))
      continue;
    throw Error(
        fmt::format("--compare {} is not valid: it must name transports of the selected workloads ({})", name,
                    listed(transports_of_all(measurements))));
  }
  std::vector<const Measurement*> kept;
  for (const Measurement* measurement : measurements)
    if (std::ranges::find(transports, measurement->transport()) != transports.end())
      kept.push_back(measurement);
  return kept;
}

}  // namespace weft::tools::perf
