// The status that a post returns for a result of the network.
#pragma once

#include "network/network.hpp"

#include <weft/status.hpp>

namespace weft::core {

/// Returns retry with its reason, or done when the network accepted the message or its peer has left.
[[nodiscard]] constexpr Status to_status(network::SendResult result) noexcept {
  switch (result) {
    case network::SendResult::no_slot:
      return Status::retry(Reason::no_slot);
    case network::SendResult::no_credit:
      return Status::retry(Reason::no_credit);
    case network::SendResult::lock_contended:
      return Status::retry(Reason::lock_contended);
    case network::SendResult::not_ready:
      return Status::retry(Reason::not_ready);
    case network::SendResult::sent:
    case network::SendResult::peer_left:
      break;
  }
  return Status::done();
}

}  // namespace weft::core
