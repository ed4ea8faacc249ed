// What a network's refusal means to the poster.
#pragma once

#include "network/network.hpp"

#include <weft/status.hpp>

namespace weft::core {

/// retry with its reason; done when the network took the message, or has nobody to bring it to.
[[nodiscard]] constexpr Status refusal(network::SendResult result) noexcept {
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
    case network::SendResult::peer_gone:
      break;
  }
  return Status::done();
}

}  // namespace weft::core
