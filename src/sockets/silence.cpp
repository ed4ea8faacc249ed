#include "sockets/silence.hpp"

#include <netinet/in.h>
// After netinet/in.h: tcp_info with the fields of today.
#include <linux/tcp.h>
#include <sys/socket.h>

namespace weft::sockets {

namespace {

constexpr std::uint32_t kLeastProbes = 2;

}  // namespace

std::uint32_t silence_of(int socket) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  const bool owes_data = info.tcpi_unacked != 0 && info.tcpi_backoff != 0;
  // A closed window: the answers to probes set their number back.
  const bool owes_probes = info.tcpi_unacked == 0 && info.tcpi_probes >= kLeastProbes;
  return owes_data || owes_probes ? info.tcpi_last_ack_recv : 0;
}

}  // namespace weft::sockets
