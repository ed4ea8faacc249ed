#include "bindings/mpi/explanations/long_wait.hpp"

#include "bindings/mpi/transport/matching.hpp"

#include <cstring>

namespace weft::mpi {

namespace {

/// Covers a communicator's contexts of collectives, that of the program's messages left out: bit 0 is set in
/// them.
constexpr std::uint64_t kHiddenMask = kContextMask & ~(std::uint64_t{2} << 32);

}  // namespace

std::string last_call(const Communicator& communicator, int which) {
  const std::string name = communicator.last_collective[which].load(std::memory_order_relaxed);
  const int root = communicator.last_root[which].load(std::memory_order_relaxed);
  return root < 0 || communicator.is_inter() ? name : name + " with root " + std::to_string(root);
}

LongWait long_wait(const WaitPurpose& purpose) {
  using What = WaitPurpose::What;
  LongWait wait;
  const Communicator* const communicator = purpose.communicator;
  detail::WaitDetail& detail = wait.detail;
  switch (purpose.what) {
    case What::several:
      wait.what = "one of several requests";
      break;
    case What::creation:
      wait.what = "the other members";
      break;
    case What::partitions:
      wait.what = "all partitions of the message, each of which its sender makes ready (MPI_Pready)";
      break;
    case What::program:
      wait.what = "the program to complete a generalised request";
      break;
    case What::receive:
    case What::send:
    case What::probe: {
      const bool is_any = purpose.peer < 0;
      const std::string peer = is_any ? "any rank" : "rank " + std::to_string(purpose.peer) + " there";
      const std::string tag = purpose.tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(purpose.tag);
      wait.what = purpose.what == What::send ? peer + " to take a message with " + tag
                                             : "a message from " + peer + " with " + tag;
      detail.has_tag = true;
      detail.tag = receive_key(communicator->context, purpose.tag);
      if (purpose.tag == MPI_ANY_TAG) detail.tag_mask = kContextMask;
      if (!is_any) detail.peer = communicator->peer(purpose.peer);
      break;
    }
    case What::collective: {
      const int which = purpose.peer == 1 ? 1 : 0;
      wait.what = "number " + std::to_string(purpose.tag) + " of its " + (which == 1 ? "immediate " : "") +
                  "collectives";
      detail.has_tag = true;
      const bool is_of_neighbours = std::strstr(current_call, "eighbor") != nullptr;
      detail.tag = key_of(is_of_neighbours ? communicator->context | 2 : communicator->hidden_context(), 0);
      detail.tag_mask = is_of_neighbours ? kContextMask : kHiddenMask;
      detail.sequence = sequence_of(communicator->context, which);
      detail.step = static_cast<std::uint64_t>(purpose.tag);
      // Of an older one that is still under way the name is not known.
      if (communicator->collectives[which].load(std::memory_order_relaxed) / 2 ==
          static_cast<std::uint32_t>(purpose.tag))
        wait.step_name = last_call(*communicator, which);
      break;
    }
  }
  return wait;
}

}  // namespace weft::mpi
