// What of the papers' findings shows in the figures, and what two cores cannot show.
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

/// The results of one experiment, by the words of variants.
class Curves {
 public:
  Curves(const StudyResults& results, std::string_view experiment) : results_(results) {
    for (std::size_t index = 0; index < results.experiments.size(); ++index)
      if (results.experiments[index].name == experiment) index_ = index;
  }
  [[nodiscard]] bool is_there() const { return index_.has_value(); }
  /// The best median of a variant over all points, or at the last point; 0: not measured.
  [[nodiscard]] double best(std::size_t variant) const { return extreme(variant, 0); }
  [[nodiscard]] double last(std::size_t variant) const {
    return extreme(variant, results_.experiments[*index_].cases.size() - 1);
  }
  [[nodiscard]] double first(std::size_t variant) const {
    return results_.figure(*index_, 0, variant).median;
  }
  /// A counter at the last point, per parcel, as a median.
  [[nodiscard]] double per_parcel(std::size_t variant, const std::string& counter) const {
    const auto& rounds = results_.answers[*index_].back()[variant];
    std::vector<double> values;
    for (const Json& round : rounds) {
      const Json& counters = round.at("counters");
      const double parcels = counters.at("parcels").get<double>();
      if (parcels > 0) values.push_back(counters.at(counter).get<double>() / parcels);
    }
    return values.empty() ? 0 : spread_of(std::move(values)).median;
  }

 private:
  [[nodiscard]] double extreme(std::size_t variant, std::size_t from) const {
    const Experiment& experiment = results_.experiments[*index_];
    double best = 0;
    for (std::size_t point = from; point < experiment.cases.size(); ++point) {
      const Spread spread = results_.figure(*index_, point, variant);
      if (spread.count == 0) continue;
      const bool is_better =
          best == 0 || (experiment.more_is_better ? spread.median > best : spread.median < best);
      if (is_better) best = spread.median;
    }
    return best;
  }
  const StudyResults& results_;
  std::optional<std::size_t> index_;
};

std::optional<std::size_t> find(const StudyResults& results, std::string_view name) {
  for (std::size_t index = 0; index < results.variants.size(); ++index)
    if (results.variants[index].name == name) return index;
  return {};
}

std::vector<std::size_t> those_of(const StudyResults& results, bool is_of_mpi) {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < results.variants.size(); ++index) {
    const std::string& name = results.variants[index].name;
    const bool is_mpi = name.starts_with("mpi") || name.starts_with("openmpi");
    if (is_of_mpi ? is_mpi : name.starts_with("weft")) found.push_back(index);
  }
  return found;
}

double best_of(const Curves& curves, const std::vector<std::size_t>& variants, bool more_is_better) {
  double best = 0;
  for (const std::size_t variant : variants) {
    const double value = curves.best(variant);
    if (value > 0 && (best == 0 || (more_is_better ? value > best : value < best))) best = value;
  }
  return best;
}

/// "8 bytes: weft 21.1, mpi 3.1 million/s: 6.8 times".
void compare_ports(const StudyResults& results, std::vector<std::string>& findings) {
  const auto weft = those_of(results, false);
  const auto mpi = those_of(results, true);
  for (const Experiment& experiment : results.experiments) {
    const Curves curves(results, experiment.name);
    const double own = best_of(curves, weft, experiment.more_is_better);
    const double other = best_of(curves, mpi, experiment.more_is_better);
    if (own <= 0 || other <= 0) continue;
    findings.push_back(fmt::format("{}: weft at its best {:.4g}, MPI at its best {:.4g}{}{}: {:.3g} times",
                                   experiment.title, own, other, experiment.unit.empty() ? "" : " ",
                                   experiment.unit, experiment.more_is_better ? own / other : other / own));
  }
}

/// Immediate and queued against each other, and adaptive against the better of them, for every port that has
/// all.
void compare_aggregation(const StudyResults& results, std::vector<std::string>& findings) {
  for (std::size_t adaptive = 0; adaptive < results.variants.size(); ++adaptive) {
    const std::string& port = results.variants[adaptive].name;
    const auto immediate = find(results, port + ":immediate");
    const auto queued = find(results, port + ":queued");
    if (!queued) continue;
    for (const char* const name : {"rate-8", "rate-512", "rate-16K", "rate-16K-array"}) {
      const Curves curves(results, name);
      if (!curves.is_there()) continue;
      const double at_once = immediate ? curves.last(*immediate) : 0;
      const double together = curves.last(*queued);
      const double both = curves.last(adaptive);
      if (together <= 0 || both <= 0) continue;
      if (at_once > 0)
        findings.push_back(
            fmt::format("{}, no limit, {}: send-immediate makes {:.3g} times the rate of the queue with "
                        "connections (the paper: it helps the LCI parcelport and does not help MPI's)",
                        name, port, at_once / together));
      findings.push_back(fmt::format(
          "{}, no limit, {}: adaptive makes {:.3g} of {}; {:.3g} of its parcels travelled with others, after "
          "{:.3g} push-backs per parcel",
          name, port, both / std::max(at_once, together), at_once > 0 ? "the better of the two" : "the queue",
          curves.per_parcel(adaptive, "aggregated"), curves.per_parcel(adaptive, "pushed_back")));
    }
  }
}

/// "rate-16K, no limit: weft makes 0.8 of the bare ring that copies each array twice".
void compare_with_ring(const StudyResults& results, std::vector<std::string>& findings) {
  const auto ring = find(results, "two-copy-ring");
  if (!ring) return;
  for (const Experiment& experiment : results.experiments) {
    const Curves curves(results, experiment.name);
    if (!experiment.name.starts_with("rate-") || curves.last(*ring) <= 0) continue;
    std::string shares;
    for (std::size_t variant = 0; variant < results.variants.size(); ++variant)
      if (variant != *ring && curves.last(variant) > 0)
        shares += fmt::format("{}{} {:.2f}", shares.empty() ? "" : ", ", results.variants[variant].name,
                              curves.last(variant) / curves.last(*ring));
    if (!shares.empty())
      findings.push_back(
          fmt::format("{}, no limit: of the {:.3g} million/s of a bare ring that copies each array twice: {}",
                      experiment.name, curves.last(*ring), shares));
  }
}

}  // namespace

std::vector<std::string> findings_of(const StudyResults& results) {
  std::vector<std::string> findings;
  std::size_t jobs = 0;
  bool is_disturbed = false;
  for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
    jobs += results.others.size();
    is_disturbed = is_disturbed || results.is_disturbed(variant);
  }
  if (const std::size_t disturbed = results.disturbed_jobs(); disturbed > 0)
    findings.push_back(fmt::format("other programs ran beside {} of {} jobs: {}", disturbed, jobs,
                                   is_disturbed
                                       ? "the figures are not comparable, and nothing is judged by them"
                                       : "those are left out"));
  if (!is_disturbed) compare_ports(results, findings);
  if (results.options.study == "parcels") {
    if (!is_disturbed) {
      compare_aggregation(results, findings);
      compare_with_ring(results, findings);
    }
    const std::size_t cores = read_topology().cores.size();
    findings.push_back(fmt::format(
        "not to be seen on {} cores: a pinned progress thread against progress by workers (it needs a core "
        "that no "
        "worker uses), contention of tens of threads on one device, and what several devices gain",
        cores));
  }
  return findings;
}

}  // namespace weft::tools::study
