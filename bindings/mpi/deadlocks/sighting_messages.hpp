// How sightings travel: in the context of collectives of MPI_COMM_WORLD, whose own tags are lower.
#pragma once

#include "bindings/mpi/deadlocks/sighting.hpp"

namespace weft::mpi {

inline constexpr std::uint32_t kContextOfSightings = 1;
inline constexpr int kTagOfSightings = static_cast<int>(0x80000001U);

// All by one thread at a time.

/// Returns false where there is no way to the rank yet, or no room.
[[nodiscard]] bool post_sighting(int rank, const Sighting& what);
/// Takes the oldest one that has come, and tells of whom it is; returns false where none has.
[[nodiscard]] bool take_sighting(Sighting& what, int& from);

/// How many have been sent and have come.
struct SightingCounts {
  std::uint64_t sent = 0, arrived = 0;
};
[[nodiscard]] SightingCounts count_of_sightings() noexcept;

}  // namespace weft::mpi
