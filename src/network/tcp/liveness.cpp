// Peers that the kernel does not reach any more. TCP_USER_TIMEOUT would also end connections to peers that
// are stopped or slow: it counts the time for which a peer has taken nothing, although it has answered.
#include "base/clock.hpp"
#include "network/tcp/tcp_endpoint.hpp"

#include <netinet/in.h>
// After netinet/in.h: tcp_info with the fields of today.
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kShortestLook = 100'000'000;  // nanoseconds
constexpr std::uint32_t kLeastProbes = 2;

/// Milliseconds for which a peer owes an acknowledgement; 0 while it owes none.
std::uint32_t silence_of(int socket) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  const bool owes_data = info.tcpi_unacked != 0 && info.tcpi_backoff != 0;
  // A closed window: the answers to probes set their number back.
  const bool owes_probes = info.tcpi_unacked == 0 && info.tcpi_probes >= kLeastProbes;
  return owes_data || owes_probes ? info.tcpi_last_ack_recv : 0;
}

}  // namespace

std::int64_t TcpEndpoint::look_interval() const noexcept {
  return std::max(base::seconds_to_ns(context_.membership.peer_timeout) / 8, kShortestLook);
}

void TcpEndpoint::look_after_peers(std::int64_t now) noexcept {
  if (now < next_look_) return;
  next_look_ = now + look_interval();
  for (const auto& [peer, connection] : connections_) {
    if (!connection->is_open() || connection->rank == context_.membership.rank) continue;
    const std::uint32_t silence = silence_of(connection->socket.get());
    if (silence > context_.membership.peer_timeout * 1000)
      lose(*connection, "it has not answered for " + std::to_string(silence / 1000) + " s (peer_timeout)");
  }
}

}  // namespace weft::network::tcp
