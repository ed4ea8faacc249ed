// What this rank says of a wait.
#pragma once

#include "bindings/mpi/explanations/sighting.hpp"
#include "bindings/mpi/explanations/waiting.hpp"

namespace weft::mpi {

class StuckWait;

/// A wait that lasts.
struct Wait {
  const StuckWait* by;
  std::uint64_t number;
  WaitPurpose purpose;
  bool is_for_all;
  const char* call;
  const void* caller;
};

/// Messages so far, but sightings.
[[nodiscard]] Traffic traffic();
/// Says what the wait is for.
void describe(const Wait& wait, Sighting& own);
/// Says how far this rank has come in what it is asked for.
void answer_asked(Sighting& own, const std::array<std::uint64_t, Sighting::kAsked>& asked);

}  // namespace weft::mpi
