// Whether all members of each communicator have called the same collectives in the same order, found when the
// library ends.
#pragma once

#include <cstdint>
#include <string>

namespace weft::mpi {

/// Tells the neighbours among the members of each communicator what this one has called. Before all ranks
/// wait for each other.
void tell_histories();
struct DifferentHistories {
  std::string lines;    // for each communicator that this rank tells of
  bool is_any = false;  // whether a neighbour has called other ones, which another rank may tell of
};
/// Behind that: where members have called different collectives. Takes the messages of tell_histories() out.
[[nodiscard]] DifferentHistories different_histories();

}  // namespace weft::mpi
