// Vectors of digests are compared before receives and messages themselves, as in Open MPI's custom matching.
#pragma once

#include <vector>

#include "study/matching/algorithms/packed_queue.hpp"

namespace weft::tools::study {

/// Two queues as ListMatching has them, but of digests (packed_queue.hpp), of which one instruction compares
/// eight. Wildcards lie in the same queue as other receives: each digest has a mask. What fits by its digest
/// is compared exactly. Depth counts vectors and exact comparisons, so the best is 2.
class FuzzyMatching final : public MatchingAlgorithm {
 public:
  void reserve(Item items, int ranks) override;
  [[nodiscard]] Found take_receive(const MatchEnvelope& message) noexcept override;
  void add_message(Item message, const MatchEnvelope& envelope) noexcept override;
  [[nodiscard]] Found take_message(const MatchPattern& receive) noexcept override;
  void add_receive(Item receive, const MatchPattern& pattern) noexcept override;
  [[nodiscard]] Found find_message(const MatchPattern& receive) const noexcept override;
  void remove_receive(Item receive) noexcept override;
  void remove_message(Item message) noexcept override;

 private:
  std::vector<MatchPattern> receives_;   ///< by item
  std::vector<MatchEnvelope> messages_;  ///< by item
  PackedQueue posted_;
  PackedQueue waiting_;
};

}  // namespace weft::tools::study
