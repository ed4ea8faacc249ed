// Staging: small messages that follow one another leave together in a frame.
#pragma once

#include "network/session/courier/staging_state.hpp"
#include "network/session/device/device_context.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/link/link.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::session {

/// The first message to a peer since the last poll leaves at once. Those that follow are staged, and leave
/// when the frame is full, when a message of another class follows, at the next poll (where the way to the
/// peer is long: at the next one after a small part of a round trip, pacing/round_trip.hpp), before a thread
/// parks or waits for other ranks, or when the courier has seen that none of these happens. Under the
/// device's lock, but for what says otherwise.
class Staging {
 public:
  Staging(DeviceContext& context, LinkCredits& credits) noexcept : context_(context), credits_(credits) {}

  /// Nothing is staged where no courier would send it on.
  void allow(bool is_allowed) noexcept { is_allowed_ = is_allowed; }
  [[nodiscard]] bool may_stage(const Link& link, const Outgoing& outgoing, std::size_t size) const noexcept;
  /// Returns false, without effect on the message, when there is no frame or no credit for one.
  [[nodiscard]] bool stage(Link& link, const Outgoing& outgoing, Bytes payload) noexcept;
  /// Sends what is staged for a peer. Returns false when the transport has no room now.
  [[nodiscard]] bool flush(Link& link) noexcept;
  /// Sends what is staged for all peers; `all`: also what is held for further messages.
  void flush_links(bool all) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return links_ == nullptr; }
  /// The same for any thread.
  [[nodiscard]] bool is_staging() const noexcept { return state_.is_staging(); }
  /// Changes whenever what is staged is sent. Any thread.
  [[nodiscard]] std::uint64_t round() const noexcept { return state_.round(); }

 private:
  DeviceContext& context_;
  LinkCredits& credits_;
  Link* links_ = nullptr;    // links that may have a staged frame
  bool is_allowed_ = false;  // set at the first contact
  StagingState state_;       // whether links_ has links
};

}  // namespace weft::network::session
