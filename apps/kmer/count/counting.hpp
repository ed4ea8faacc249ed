// One rank's part in counting k-mers of a number of words: the data that the phases pass on to each other.
#pragma once

#include "count/bloom.hpp"
#include "count/receiver.hpp"
#include "count/sender.hpp"
#include "count/table.hpp"
#include "input/input.hpp"

#include <memory>
#include <string>
#include <vector>

namespace kmer {

template <int Words>
struct Counting {
  std::vector<WorkUnit> units;  ///< of the input, that this rank reads
  ShardMap shards;
  BloomPlan bloom;
  std::vector<std::unique_ptr<Receiver<Words>>> receivers{};  ///< of this rank
  std::vector<Kept<Words>> kept{};                            ///< by worker
  int spilled = 0;                                            ///< receivers of the job

  /// For each receiver one character that tells whether it has spilled.
  [[nodiscard]] std::string spills() const {
    std::string spills;
    for (const auto& receiver : receivers) spills += receiver->has_spilled() ? '1' : '0';
    return spills;
  }
};

}  // namespace kmer
