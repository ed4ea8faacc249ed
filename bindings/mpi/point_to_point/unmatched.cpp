#include "bindings/mpi/point_to_point/unmatched.hpp"

#include "bindings/mpi/check/checked_message.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/transport/matching.hpp"

namespace weft::mpi {

std::string unmatched_messages() {
  ReceiveOptions options = receive_options(0);
  options.tag_mask = 0;
  int count = 0;
  std::string first;
  world->endpoint.progress();
  for (;;) {
    const MatchedMessage message = world->endpoint.matched_probe(any_source, 0, options);
    if (!message) break;
    const std::uint64_t key = message.info().tag;
    const auto context = static_cast<std::uint32_t>(key >> 32);
    // What the library sends for itself, and partitions, are no messages of the program.
    if ((context & 3) != 0 || (context & kPartitionedContext) != 0 || ++count > 1) continue;
    int rank = message.info().peer;
    std::string name = "a communicator that has been freed";
    visit_communicator(context, [&](const Communicator& communicator) {
      rank = communicator.peers().rank_of(message.info().peer);
      name = communicator.described();
    });
    const std::size_t header = has_header(context) ? kHeaderBytes : 0;
    first = "from rank " + std::to_string(rank) + " with tag " + std::to_string(tag_of_key(key)) + " on " +
            name + ", of " + std::to_string(message.info().length - header) + " bytes";
  }
  if (count == 0) return "";
  return "weft-mpi: rank " + std::to_string(own_world_rank) + ": MPI_Finalize: " + std::to_string(count) +
         (count == 1 ? " message was never received: " : " messages were never received; the first: ") +
         first + "\n";
}

}  // namespace weft::mpi
