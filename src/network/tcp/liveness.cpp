// Peers that the kernel does not reach any more.
#include "base/clock.hpp"
#include "network/tcp/tcp_endpoint.hpp"
#include "sockets/silence.hpp"

#include <algorithm>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kShortestLook = 100'000'000;  // nanoseconds

}  // namespace

std::int64_t TcpEndpoint::look_interval() const noexcept {
  return std::max(base::seconds_to_ns(context_.membership.peer_timeout) / 8, kShortestLook);
}

void TcpEndpoint::look_after_peers(std::int64_t now) noexcept {
  if (now < next_look_) return;
  next_look_ = now + look_interval();
  for (const auto& [peer, connection] : connections_) {
    if (!connection->is_open() || connection->rank == context_.membership.rank) continue;
    const std::uint32_t silence = sockets::silence_of(connection->socket.get());
    if (silence > context_.membership.peer_timeout * 1000)
      lose(*connection, "it has not answered for " + std::to_string(silence / 1000) + " s (peer_timeout)");
  }
}

}  // namespace weft::network::tcp
