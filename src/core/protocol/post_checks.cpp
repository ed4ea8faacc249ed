#include "core/protocol/post_checks.hpp"

#include "base/fork_watch.hpp"
#include "base/refuse.hpp"

namespace weft::core {

void refuse_peer(int peer, const Context& context, const char* operation) {
  base::refuse_in_forked_copy(operation);
  base::refuse(ErrorClass::peer, operation,
               "peer " + std::to_string(peer) + " is not a rank of this job (0 to " +
                   std::to_string(context.ranks - 1) + ")");
}

void refuse_target(const char* operation) {
  base::refuse(ErrorClass::target, operation, "the handle names nothing; use what Runtime::expose returned");
}

void refuse_class(std::uint32_t message_class, const char* operation) {
  base::refuse(
      ErrorClass::option, operation,
      "message class " + std::to_string(message_class) + " is none of normal (0), control (1) and bulk (2)");
}

void check_packet(const Packet& packet, std::size_t size, const char* operation) {
  if (!packet || size > packet.capacity()) [[unlikely]]
    base::refuse(ErrorClass::length, operation,
                 std::to_string(size) + " bytes do not fit into a packet of " +
                     std::to_string(packet ? packet.capacity() : 0) + " bytes");
}

}  // namespace weft::core
