// What the jobs of a study have measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/statistics.hpp"
#include "study/launch/variants.hpp"
#include "study/study_plan.hpp"

namespace weft::tools::study {

struct StudyResults {
  StudyOptions options;
  std::vector<Variant> variants;
  std::vector<Experiment> experiments;
  /// By experiment, case, variant and round: what rank 0 has answered.
  std::vector<std::vector<std::vector<std::vector<Json>>>> answers;
  /// By round and variant: OtherPrograms::share() while the job ran.
  std::vector<std::vector<double>> others;
  std::vector<std::string> remarks;

  /// Jobs beside which other programs ran.
  [[nodiscard]] std::size_t disturbed_jobs() const;
  /// Returns true when other programs ran beside all jobs of a variant.
  [[nodiscard]] bool is_disturbed(std::size_t variant) const;
  /// The experiment's figure in its unit, of the jobs beside which no other programs ran where there are
  /// such; count 0: none.
  [[nodiscard]] Spread figure(std::size_t experiment, std::size_t point, std::size_t variant) const;
  [[nodiscard]] Spread figure(std::size_t experiment, std::size_t point, std::size_t variant,
                              const std::string& name, double scale) const;
  /// Where the point lies on the x axis: what the variant has reached, where the experiment says so.
  [[nodiscard]] double x_of(std::size_t experiment, std::size_t point, std::size_t variant) const;
};

/// Why variants have no figure where they have none, a line for each reason: "starpu, trivial, fft: ...".
[[nodiscard]] std::vector<std::string> gaps_of(const StudyResults& results, std::size_t experiment);

/// Runs all cases of all variants, round by round, the variants alternating. Throws weft::Error when a job
/// fails.
[[nodiscard]] StudyResults measure(const StudyOptions& options);

[[nodiscard]] std::string as_text(const StudyResults& results);
[[nodiscard]] std::string as_html(const StudyResults& results);
[[nodiscard]] std::string as_csv(const StudyResults& results);
[[nodiscard]] std::string as_json(const StudyResults& results);
/// What of the papers shows here, and what cannot, one line each.
[[nodiscard]] std::vector<std::string> findings_of(const StudyResults& results);

}  // namespace weft::tools::study
