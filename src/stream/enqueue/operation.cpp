#include "stream/enqueue/operation.hpp"

namespace weft::stream {

std::string describe(const EnqueuedOperation& operation) {
  const std::string bytes = " of " + std::to_string(operation.size) + " bytes";
  const auto stream = [&] {
    return (operation.address.index == any_index ? "any stream"
                                                 : "stream " + std::to_string(operation.address.index)) +
           (operation.address.rank == any_source ? std::string(" of any rank")
                                                 : " of rank " + std::to_string(operation.address.rank)) +
           (operation.has_any_tag ? " with any tag" : " with tag " + std::to_string(operation.tag));
  };
  switch (operation.kind) {
    case EnqueuedKind::send:
      return "send" + bytes + " to " + stream();
    case EnqueuedKind::receive:
      return "receive" + bytes + " from " + stream();
    case EnqueuedKind::wait:
      return "wait for a request";
    case EnqueuedKind::put:
      return "put" + bytes + " to rank " + std::to_string(operation.address.rank);
    case EnqueuedKind::active_message:
      return "active message" + bytes + " to rank " + std::to_string(operation.address.rank);
    case EnqueuedKind::barrier:
      return "barrier";
    case EnqueuedKind::broadcast:
      return "broadcast" + bytes + " from rank " + std::to_string(operation.root);
    case EnqueuedKind::allreduce:
      return "allreduce" + bytes;
  }
  return "operation";
}

}  // namespace weft::stream
