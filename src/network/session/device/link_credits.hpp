// Credits of links: how many messages of a class a peer has taken, told in batches, or when it asks.
#pragma once

#include "network/session/device/device_context.hpp"
#include "network/session/link/link.hpp"
#include "network/session/pacing/due_credit.hpp"

#include <cstdint>

namespace weft::network::session {

/// Under the device's lock, but for what says otherwise.
class LinkCredits {
 public:
  explicit LinkCredits(DeviceContext& context) noexcept : context_(context) {}

  [[nodiscard]] bool owes(const Link& link) const noexcept;
  Sent send(Link& link) noexcept;
  /// Asks the peer for the credit of everything that was sent.
  Sent ask(Link& link) noexcept;
  /// A message of the class has left: times it now and then.
  void note_left(Link& link, TrafficClass traffic) noexcept;
  void on_credit(Link& link, Bytes payload) noexcept;
  void on_ask(Link& link, Bytes payload) noexcept;

  /// Messages of the lane have been delivered. By the thread that has the lane entered, without the lock.
  void note_taken(const Lane& lane) noexcept;
  /// Returns true when deliveries have happened since the last look(). Any thread.
  [[nodiscard]] bool is_due() const noexcept { return due_.is_due(); }
  /// Returns true when peers are owed credit, and some may wait for it. Any thread.
  [[nodiscard]] bool is_owed() const noexcept { return due_.is_batch_owed() || due_.is_owed(); }

  // Drives in which no message comes: after some time all credit is returned.
  void count_drive() noexcept {
    if (idle_drives_ != ~std::uint32_t{0}) ++idle_drives_;
  }
  void begin_idle() noexcept;
  void end_idle() noexcept { idle_drives_ = 0; }
  void return_when_idle() noexcept;
  void return_all() noexcept { returns_all_ = true; }
  [[nodiscard]] bool returns_all() const noexcept { return returns_all_; }

  /// Before links are served: asks for that when credit may be due.
  void look() noexcept;
  // Around a round in which all links are served.
  void begin_round() noexcept;
  void end_round() noexcept;

 private:
  DeviceContext& context_;
  std::uint32_t idle_drives_ = 0;  // calls of drive() since a message came
  std::int64_t idle_since_ = 0;    // time of the first of these
  bool returns_all_ = false;
  alignas(64) DueCredit due_;  // noted by deliveries
};

}  // namespace weft::network::session
