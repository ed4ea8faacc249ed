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

void require_in_region(LocalRegion region, Bytes buffer, const Context& context, const char* operation) {
  const network::RegionName name = name_of(region);
  if (context.regions.holds(name, buffer)) return;
  base::refuse(ErrorClass::option, operation,
               "option region names region " + std::to_string(name.index) + " of this runtime, which " +
                   (context.regions.find(name, 0, 0) == nullptr
                        ? "is not open: it belongs to another runtime, or has been released"
                        : "does not hold the " + std::to_string(buffer.size()) +
                              " bytes of the local buffer: name the region that does, or none"));
}

void check_packet(const Packet& packet, std::size_t size, const char* operation) {
  if (!packet || size > packet.capacity()) [[unlikely]]
    base::refuse(ErrorClass::length, operation,
                 std::to_string(size) + " bytes do not fit into a packet of " +
                     std::to_string(packet ? packet.capacity() : 0) + " bytes");
}

}  // namespace weft::core
