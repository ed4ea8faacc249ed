#include "study/matching/algorithms/algorithms.hpp"

#include <array>

#include "study/matching/algorithms/bin_matching.hpp"
#include "study/matching/algorithms/fuzzy_matching.hpp"
#include "study/matching/algorithms/list_matching.hpp"
#include "study/matching/algorithms/rank_list_matching.hpp"

namespace weft::tools::study {

namespace {

struct Row {
  MatchingAlgorithmInfo info;
  std::unique_ptr<MatchingAlgorithm> (*make)();
};

template <class Algorithm>
std::unique_ptr<MatchingAlgorithm> make() {
  return std::make_unique<Algorithm>();
}

constexpr std::array kRows{
    Row{{"list", "a list of receives and one of messages, searched from the front, as in MPICH"},
        make<ListMatching>},
    Row{{"rank-lists", "a list for each source and one for receives from any, as in Open MPI"},
        make<RankListMatching>},
    Row{{"bins", "256 lists by a hash of source and tag and one for wildcards, as in UCX"},
        make<BinMatching>},
    Row{{"fuzzy", "vectors of digests are compared before receives are, as in Open MPI's custom matching"},
        make<FuzzyMatching>}};

}  // namespace

std::span<const MatchingAlgorithmInfo> matching_algorithms() noexcept {
  static constexpr auto kInfos = [] {
    std::array<MatchingAlgorithmInfo, kRows.size()> infos;
    for (std::size_t row = 0; row < kRows.size(); ++row) infos[row] = kRows[row].info;
    return infos;
  }();
  return kInfos;
}

std::unique_ptr<MatchingAlgorithm> make_matching_algorithm(std::string_view name) {
  for (const Row& row : kRows)
    if (row.info.name == name) return row.make();
  return nullptr;
}

}  // namespace weft::tools::study
