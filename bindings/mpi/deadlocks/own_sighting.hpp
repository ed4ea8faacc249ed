// What this rank says of a wait.
#pragma once

#include "bindings/mpi/deadlocks/sighting.hpp"
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
/// Says how far this rank has come in what it is asked for, and which messages lie here.
void answer(Sighting& own, const Sighting& question);

}  // namespace weft::mpi
