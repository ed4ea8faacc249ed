// Messages that have come: checked, and sorted into the lanes of their links or answered at once.
#pragma once

#include "network/session/device/contact.hpp"
#include "network/session/device/delivery.hpp"
#include "network/session/device/device_context.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/link/links.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/link/received_message.hpp"

namespace weft::network::session {

/// Under the device's lock.
class Arrivals {
 public:
  Arrivals(DeviceContext& context, Links& links, Contacts& contacts, LinkCredits& credits,
           Delivery& delivery) noexcept
      : context_(context), links_(links), contacts_(contacts), credits_(credits), delivery_(delivery) {}

  /// Takes a message that has come; one that is refused, or that needs no delivery, is released at once.
  void accept(ReceivedMessage& message) noexcept;

 private:
  /// Returns true when the message waits for its delivery; the caller releases any other message.
  bool keeps(ReceivedMessage& message, const Header& header) noexcept;

  DeviceContext& context_;
  Links& links_;
  Contacts& contacts_;
  LinkCredits& credits_;
  Delivery& delivery_;
};

}  // namespace weft::network::session
