#include "network/tcp/liveness.hpp"

#include "base/clock.hpp"
#include "sockets/silence.hpp"

#include <algorithm>
#include <string>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kShortestLook = 100'000'000;  // nanoseconds

}  // namespace

std::int64_t Liveness::interval() const noexcept {
  return std::max(base::seconds_to_ns(peer_timeout_) / 8, kShortestLook);
}

void Liveness::look_after(const Connections& connections, std::int64_t now) noexcept {
  if (now < next_look_) return;
  next_look_ = now + interval();
  for (const auto& [peer, connection] : connections) {
    if (!connection->is_open() || connection->rank == rank_) continue;
    const std::uint32_t silence = sockets::silence_of(connection->socket.get());
    if (silence > peer_timeout_ * 1000)
      owner_.lose(*connection,
                  "it has not answered for " + std::to_string(silence / 1000) + " s (peer_timeout)");
  }
}

}  // namespace weft::network::tcp
