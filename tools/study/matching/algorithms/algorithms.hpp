// The matching algorithms of the study, by name.
#pragma once

#include <weft/matching/algorithm.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace weft::tools::study {

struct MatchingAlgorithmInfo {
  std::string_view name;
  std::string_view help;  ///< one line
};

[[nodiscard]] std::span<const MatchingAlgorithmInfo> matching_algorithms() noexcept;

/// Null for a name that is not among matching_algorithms().
[[nodiscard]] std::unique_ptr<MatchingAlgorithm> make_matching_algorithm(std::string_view name);

}  // namespace weft::tools::study
