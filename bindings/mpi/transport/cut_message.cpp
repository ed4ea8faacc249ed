#include "bindings/mpi/transport/cut_message.hpp"

#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

CutMessage cut_message(std::int64_t bytes, int rank, bool is_both_ways) {
  const auto packet = static_cast<std::int64_t>(world->packet_bytes);
  if (bytes <= packet) return {bytes, 0};
  const bool is_near = world->runtime.host_of(rank) == world->runtime.host_of(world->runtime.rank());
  const World::Way way = is_near ? world->way_within_host : world->way_between_hosts;
  const bool is_cut = way == World::Way::stream || (way == World::Way::shared_memory && is_both_ways);
  return {bytes, is_cut ? packet : 0};
}

}  // namespace weft::mpi
