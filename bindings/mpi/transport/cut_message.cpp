#include "bindings/mpi/transport/cut_message.hpp"

#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

CutMessage cut_message(std::int64_t bytes, int rank, bool is_both_ways) {
  const CutMessage cut(bytes, static_cast<std::int64_t>(world->packet_bytes));
  if (cut.pieces() == 1) return cut;
  const bool is_near = world->runtime.host_of(rank) == world->runtime.host_of(world->runtime.rank());
  const World::Way way = is_near ? world->way_within_host : world->way_between_hosts;
  const bool is_cut = way == World::Way::stream || (way == World::Way::shared_memory && is_both_ways);
  return is_cut ? cut : CutMessage(bytes, 0);
}

}  // namespace weft::mpi
