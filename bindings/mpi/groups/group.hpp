// Groups: ordered sets of processes.
#pragma once

#include "bindings/mpi/groups/session.hpp"
#include "bindings/mpi/objects/object.hpp"

#include <utility>
#include <vector>

namespace weft::mpi {

struct Group : Object {
  static constexpr Kind kKind = Kind::group;
  /// `members`: the rank in MPI_COMM_WORLD of each. `of`: the session that it comes from, if any.
  explicit Group(std::vector<int> members, Session* of = nullptr);
  ~Group() { release(session); }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks.size()); }
  /// The rank in this group of a rank of MPI_COMM_WORLD, or MPI_UNDEFINED.
  [[nodiscard]] int rank_of(int world_rank) const noexcept {
    if (is_identity) return world_rank < size() ? world_rank : MPI_UNDEFINED;
    return search(world_rank);
  }

  const std::vector<int> ranks;
  Session* const session;   // retained
  bool is_identity = true;  // the first ranks of MPI_COMM_WORLD, in their order

 private:
  [[nodiscard]] int search(int world_rank) const noexcept;
  std::vector<std::pair<int, int>> sorted_;  // ranks of MPI_COMM_WORLD with their rank here
};

extern Group empty_group;

/// The rank of this process in MPI_COMM_WORLD; set by MPI_Init.
extern int own_world_rank;

}  // namespace weft::mpi
