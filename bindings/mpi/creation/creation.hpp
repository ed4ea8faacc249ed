// Making communicators of others.
#pragma once

#include "bindings/mpi/collectives/launch.hpp"

#include <vector>

namespace weft::mpi {

/// A communicator of these ranks of MPI_COMM_WORLD, with the error handler of the one that it comes from.
[[nodiscard]] Communicator* new_communicator(const Communicator& parent, std::uint32_t context,
                                             std::vector<int> world_ranks);
/// The same group or groups with a new context; attributes are copied by whoever calls.
[[nodiscard]] Communicator* copy_of_communicator(Communicator& original, std::uint32_t context);

/// A collective over an intracommunicator, or an intercommunicator: agrees on a context, which its first
/// member gives out.
[[nodiscard]] std::uint32_t agree_on_context(Communicator& communicator);

/// MPI_Comm_split among the members of an intracommunicator; nullptr where the colour is MPI_UNDEFINED.
[[nodiscard]] Communicator* split(Communicator& communicator, int color, int key);

/// Where messages go by which some members of a communicator make another one, with a tag that the program
/// has chosen: apart from its own messages with that tag, and from collectives.
[[nodiscard]] Channel channel_of_creation(Communicator& communicator, int tag) noexcept;

/// Whether all members of a group call it with the same one: the context that they agree on, by messages on a
/// tag of the program's choice.
[[nodiscard]] std::uint32_t agree_in_group(Communicator& communicator, const Group& group, int tag);

}  // namespace weft::mpi
