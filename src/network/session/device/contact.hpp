// Contact between devices: greetings, and the messages by which they publish handles. Serves the links.
#pragma once

#include "network/session/device/device_context.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/device/staging.hpp"
#include "network/session/link/handle_board.hpp"
#include "network/session/link/link.hpp"
#include "network/session/link/links.hpp"
#include "network/session/link/message_format.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::network::session {

/// Under the device's lock.
class Contacts {
 public:
  /// `device`: what the courier looks after once there is a link.
  Contacts(DeviceContext& context, Links& links, LinkCredits& credits, Staging& staging,
           Laden& device) noexcept
      : context_(context), links_(links), credits_(credits), staging_(staging), device_(device) {}

  /// Makes a link to a device with this address. Returns nullptr when that is impossible now.
  Link* contact(int rank, std::uint8_t device, std::span<const std::byte> address) noexcept;
  /// Sends what waits for peers: greetings, handles, credit.
  void serve_links() noexcept;
  /// Sends what waits for the peer of this link now.
  void serve_now(Link& link) noexcept {
    if (!serve(link)) context_.links_need_service = true;
  }
  /// Makes the hello with which this device begins, header included, and returns its size. A transport may
  /// send it while the peer is still being reached, and then calls hello_has_left() when it is.
  [[nodiscard]] std::size_t make_hello(std::span<std::byte, kLongestHello> room,
                                       HandleCursor& cursor) const noexcept;
  void hello_has_left(Link& link, const HandleCursor& cursor) noexcept;
  void on_hello(const Header& header, Bytes payload) noexcept;
  void on_handles(Link& link, Bytes payload) noexcept;

 private:
  [[nodiscard]] bool serve(Link& link) noexcept;
  Sent send_hello(Link& link) noexcept;
  Sent send_updates(Link& link) noexcept;
  void open_if_both_spoke(Link& link) noexcept;
  void learn_handles(Link& link, Bytes payload) noexcept;

  DeviceContext& context_;
  Links& links_;
  LinkCredits& credits_;
  Staging& staging_;
  Laden& device_;
  std::uint64_t changes_seen_ = 0;
};

}  // namespace weft::network::session
