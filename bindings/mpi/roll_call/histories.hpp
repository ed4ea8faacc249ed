// Whether all members of each communicator have called the same collectives in the same order, found when the
// library ends.
#pragma once

#include <cstdint>
#include <string>

namespace weft::mpi {

/// Tells the next member of each communicator what this one has called. Before all ranks wait for each other.
void tell_histories();
/// Behind that: a line for each communicator whose members have called different collectives; nothing where
/// there is none. Takes the messages of tell_histories() out.
[[nodiscard]] std::string different_histories();
/// Whether a message is one of those.
[[nodiscard]] bool is_of_histories(std::uint32_t context, int tag) noexcept;

}  // namespace weft::mpi
