// Makes teams of ranks that are known to be right.
#pragma once

#include <weft/collective/team.hpp>

#include <vector>

namespace weft {

/// Collects the members of a team in their order; ranks at a constant distance become one range.
class TeamBuilder {
 public:
  void add(int job_rank);
  [[nodiscard]] int size() const noexcept { return size_; }
  /// `own_rank`: the rank in the job of the rank that makes the team.
  [[nodiscard]] Team make(int own_rank) &&;

 private:
  std::vector<TeamRange> ranges_;
  int size_ = 0;
};

}  // namespace weft
