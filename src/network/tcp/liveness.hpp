// Peers that the kernel does not reach any more.
#pragma once

#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/connection_owner.hpp"

#include <cstdint>

namespace weft::network::tcp {

/// Under the lock of its device, as all of an endpoint, but for what says otherwise.
class Liveness {
 public:
  /// `peer_timeout`: in seconds. `rank`: this one.
  Liveness(double peer_timeout, int rank, ConnectionOwner& owner) noexcept
      : peer_timeout_(peer_timeout), rank_(rank), owner_(owner) {}

  /// Nanoseconds between two looks. Any thread.
  [[nodiscard]] std::int64_t interval() const noexcept;
  /// Loses the peers that have owed an acknowledgement for longer than peer_timeout, when it is time to look.
  /// `now`: of base::now_ns().
  void look_after(const Connections& connections, std::int64_t now) noexcept;

 private:
  const double peer_timeout_;
  const int rank_;
  ConnectionOwner& owner_;
  std::int64_t next_look_ = 0;
};

}  // namespace weft::network::tcp
