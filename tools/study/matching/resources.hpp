// Throughput of single structures under several threads, as in the resource figure of the LCI paper.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/matching/matching_results.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

struct ResourcePlan {
  std::vector<int> threads{1, 2, 4, 8};
  int runs = 5;
  double seconds = 0.1;  ///< of each run
};

/// Matching engines, a completion queue and a packet pool: each thread puts something in and takes something
/// out, again and again. `report` is called before each measurement with its name.
[[nodiscard]] std::vector<ResourceRow> measure_resources(
    const std::vector<const StudyEngine*>& engines, const ResourcePlan& plan,
    const std::function<void(const std::string&)>& report);

}  // namespace weft::tools::study
