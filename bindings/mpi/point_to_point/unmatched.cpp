#include "bindings/mpi/point_to_point/unmatched.hpp"

#include "bindings/mpi/check/checked_message.hpp"
#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/deadlocks/stuck.hpp"
#include "bindings/mpi/transport/matching.hpp"

namespace weft::mpi {

namespace {

/// Bits of a context that say which of the communicator's collectives have sent the message: all of them are
/// set for those within a side of an intercommunicator.
constexpr std::uint32_t kOfCollectives = 3, kOfOwnSide = 3;

/// Messages of one kind that nobody has received.
struct Unmatched {
  int count = 0;
  std::string first;

  void note(const MatchedMessage& message, std::uint32_t context) {
    if (++count > 1) return;
    const std::uint32_t kind = context & kOfCollectives;
    int rank = message.info().peer;
    std::string name = "a communicator that has been freed";
    visit_communicator(context & ~kOfCollectives, [&](const Communicator& communicator) {
      const bool is_of_side = kind == kOfOwnSide && communicator.local_communicator != nullptr;
      const Communicator& senders = is_of_side ? *communicator.local_communicator : communicator;
      rank = senders.peers().rank_of(message.info().peer);
      name = communicator.described();
    });
    const std::size_t header = has_header(context) ? kHeaderBytes : 0;
    first = "from rank " + std::to_string(rank) +
            (kind == 0 ? " with tag " + std::to_string(tag_of_key(message.info().tag)) : "") + " on " + name +
            ", of " + std::to_string(message.info().length - header) + " bytes";
  }
  /// A line; nothing where there are none.
  [[nodiscard]] std::string told(const char* of, const char* reason) const {
    if (count == 0) return "";
    return "weft-mpi: rank " + std::to_string(own_world_rank) + ": MPI_Finalize: " + std::to_string(count) +
           (count == 1 ? " message" : " messages") + of +
           (count == 1 ? " was never received: " : " were never received; the first: ") + first + reason +
           "\n";
  }
};

}  // namespace

std::string unmatched_messages(WhichMessages told) {
  ReceiveOptions options = receive_options(0);
  options.tag_mask = 0;
  Unmatched of_program, of_collectives, of_creation;
  world->endpoint.progress();
  for (;;) {
    const MatchedMessage message = world->endpoint.matched_probe(any_source, 0, options);
    if (!message) break;
    const auto context = static_cast<std::uint32_t>(message.info().tag >> 32);
    // Partitions are no messages of the program, and of a collective that has failed somebody has been told.
    const int tag = tag_of_key(message.info().tag);
    if ((context & kPartitionedContext) != 0 || is_of_histories(context, tag) ||
        is_of_deadlocks(context, tag))
      continue;
    if ((context & kOfCollectives) == kOfOwnSide && tag < 0)
      of_creation.note(message, context);
    else if ((context & kOfCollectives) == 0)
      of_program.note(message, context);
    else if (message.info().length != kNoticeBytes)
      of_collectives.note(message, context);
  }
  if (told == WhichMessages::of_program) of_collectives.count = 0;
  return of_program.told("", "") +
         of_creation.told(" by which a communicator is made",
                          ": the ranks have passed different groups or tags, or not all of them have called "
                          "MPI_Comm_create_group or MPI_Intercomm_create") +
         of_collectives.told(" of collectives",
                             ": the ranks have passed different counts, or not all of them "
                             "have called the same collectives");
}

}  // namespace weft::mpi
