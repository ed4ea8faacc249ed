// Posting of work requests to the queue pairs of a device.
#pragma once

#include "network/ibv/connection/rank_resources.hpp"
#include "network/ibv/connection/reliable_connection.hpp"
#include "network/session/link/transport.hpp"

#include <cstdint>
#include <string>

namespace weft::network::ibv {

/// Under the device's lock.
class Posting {
 public:
  /// `most`: work requests that the completion queue has places for.
  Posting(const RankResources& context, std::uint32_t most) noexcept : context_(context), most_(most) {}

  /// Returns false while a request of this connection would have no place in a queue.
  [[nodiscard]] bool may_post(const Connection& connection) const noexcept {
    return connection.is_open && !connection.sends.is_full() && under_way_ < most_;
  }
  /// Posts, with a completion where one is needed.
  [[nodiscard]] session::Sent post(Connection& connection, ibv_send_wr& request, Work work) noexcept;
  /// One that was posted has ended.
  void ended() noexcept { --under_way_; }
  /// Returns false when what is left is for messages that are more urgent than bulk: more than half of the
  /// completion queue's places is in use, below which all that is under way may be without a completion to
  /// come.
  [[nodiscard]] bool has_room_for_bulk() const noexcept { return under_way_ < most_ / 4 * 3; }
  /// Gives up the peer, unless it is known to have left; `why` is for the log.
  void lose(Connection& connection, const std::string& why) noexcept;

 private:
  const RankResources& context_;
  const std::uint32_t most_;
  std::uint32_t under_way_ = 0;  // over all connections
};

}  // namespace weft::network::ibv
