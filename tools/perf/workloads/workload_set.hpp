#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// A set of workloads: the subject of a row of a table.
class WorkloadSet {
 public:
  constexpr WorkloadSet() = default;
  constexpr WorkloadSet(Workload one) : WorkloadSet(one, one) {}
  /// All workloads from `first` to `last`, in the order of Workload.
  constexpr WorkloadSet(Workload first, Workload last) {
    for (std::size_t at = index_of(first); at <= index_of(last); ++at)
      words_[at / kBits] |= std::uint64_t{1} << at % kBits;
  }
  constexpr WorkloadSet operator|(const WorkloadSet& other) const {
    WorkloadSet both = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] |= other.words_[i];
    return both;
  }
  constexpr bool operator==(const WorkloadSet&) const = default;
  [[nodiscard]] constexpr bool contains(Workload workload) const {
    return (words_[index_of(workload) / kBits] >> index_of(workload) % kBits & 1) != 0;
  }
  [[nodiscard]] constexpr int size() const {
    int size = 0;
    for (const std::uint64_t word : words_) size += std::popcount(word);
    return size;
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t index_of(Workload workload) { return static_cast<std::size_t>(workload); }
  std::array<std::uint64_t, 2> words_{};
};

inline constexpr WorkloadSet kAllWorkloads(Workload::rate, Workload::am_fresh_16m);

/// Returns true when each of `expected` is in exactly one row of a table, and no other workload is.
template <class Table>
constexpr bool has_one_row_each(const Table& table, const WorkloadSet& expected) {
  WorkloadSet all;
  int sum = 0;
  for (const auto& row : table) {
    all = all | row.workloads;
    sum += row.workloads.size();
  }
  return all == expected && sum == expected.size();
}

}  // namespace weft::tools::perf
