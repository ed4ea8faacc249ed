#include "network/ibv/verbs/gid_choice.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace weft::network::ibv {

namespace {

in6_addr address_of(const ibv_gid_entry& entry) noexcept {
  in6_addr address{};
  std::memcpy(&address, entry.gid.raw, sizeof address);
  return address;
}

/// The lower, the better.
int preference_of(const ibv_gid_entry& entry) noexcept {
  if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) return 3;
  const in6_addr address = address_of(entry);
  if (IN6_IS_ADDR_V4MAPPED(&address)) return 0;
  return IN6_IS_ADDR_LINKLOCAL(&address) ? 2 : 1;
}

}  // namespace

std::optional<std::size_t> preferred_gid(std::span<const ibv_gid_entry> entries) noexcept {
  std::optional<std::size_t> best;
  for (std::size_t next = 0; next < entries.size(); ++next)
    if (!best.has_value() || preference_of(entries[next]) < preference_of(entries[*best])) best = next;
  return best;
}

std::string to_text(const ibv_gid_entry& entry) {
  const in6_addr address = address_of(entry);
  char room[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&address))
    ::inet_ntop(AF_INET, entry.gid.raw + 12, room, sizeof room);
  else
    ::inet_ntop(AF_INET6, entry.gid.raw, room, sizeof room);
  const char* kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? "RoCE v2"
                     : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
                                                              : "InfiniBand";
  return std::string(room) + " (" + kind + ")";
}

}  // namespace weft::network::ibv
