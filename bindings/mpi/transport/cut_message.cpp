#include "bindings/mpi/transport/cut_message.hpp"

#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

CutMessage cut_message(std::int64_t bytes, int rank) {
  const bool is_whole = world->streams == World::Streams::none ||
                        bytes <= static_cast<std::int64_t>(world->packet_bytes) ||
                        (world->streams == World::Streams::between_hosts &&
                         world->runtime.host_of(rank) == world->runtime.host_of(world->runtime.rank()));
  return {bytes, is_whole ? 0 : static_cast<std::int64_t>(world->packet_bytes)};
}

}  // namespace weft::mpi
