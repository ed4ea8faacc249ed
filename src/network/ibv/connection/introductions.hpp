// Reaching peers: datagrams by which devices tell each other their queue pairs.
//
// A device publishes one address, of a queue pair for datagrams. Whoever wants to reach it makes a reliable
// queue pair and sends a card that names it; the other does the same. Cards may be lost, doubled or late, so
// each side repeats its own until it knows that the queue pair of the other receives, and answers every card
// of a side that does not know it yet.
#pragma once

#include "network/ibv/connection/connections.hpp"
#include "network/ibv/connection/rank_resources.hpp"
#include "network/ibv/memory/arrival_buffers.hpp"
#include "network/session/session_device.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::ibv {

/// Under the device's lock, but for what says otherwise.
class Introductions {
 public:
  static constexpr std::uint32_t kSlots = 32;               // for cards, in each direction
  static constexpr std::int64_t kRepeatAfter = 20'000'000;  // nanoseconds
  /// Receive buffers for a device that puts into regions here.
  static constexpr std::uint32_t kForImmediates = 16;

  /// Throws weft::Error.
  Introductions(const RankResources& context, const QueuePairPlan& plan, std::uint32_t index,
                Connections& connections, IbvReceiveBuffers& buffers);

  /// The address to be published.
  [[nodiscard]] Address address() const noexcept;
  /// Begins to reach the peer of a connection, whose address is set. Throws weft::Error.
  void begin(Connection& connection);
  /// Makes a queue pair for accesses beside the one for messages, in place of the one before, whose work
  /// requests come back. Throws weft::Error.
  Connection& begin_accesses(Connection& messages, Purpose purpose, std::uint8_t round);
  /// Takes the completion of a datagram.
  void on_completion(const ibv_wc& completion, session::SessionDevice& device) noexcept;
  /// Sends the cards that are due.
  void repeat(session::SessionDevice& device) noexcept;
  /// Returns true while peers are being reached. Any thread.
  [[nodiscard]] bool are_under_way() const noexcept { return are_under_way_.load(std::memory_order_relaxed); }
  void end() noexcept { datagrams_.reset(); }

 private:
  /// What arrives has a route header of this size in front.
  static constexpr std::size_t kRouteHeader = 40;
  struct Slot {
    std::byte received[kRouteHeader + sizeof(Card)];
    Card sent;
  };

  void make_queue_pair();
  void make_room_for_immediates() noexcept;
  void post_receive(std::uint32_t slot) noexcept;
  void send_card(Connection& connection) noexcept;
  void on_card_sent(ibv_wc_status status) noexcept;
  void on_card(const Card& card, session::SessionDevice& device) noexcept;
  [[nodiscard]] Connection* connection_for(const Card& card, session::SessionDevice& device) noexcept;
  [[nodiscard]] Connection* accesses_for(const Card& card, Connection& messages) noexcept;
  void learn(Connection& connection, const Card& card, session::SessionDevice& device);
  [[nodiscard]] bool is_from_this_job(const Card& card) const noexcept;

  const RankResources& context_;
  const QueuePairPlan& plan_;
  const std::uint8_t index_;
  const std::uint32_t queue_key_;
  Connections& connections_;
  IbvReceiveBuffers& buffers_;
  const std::unique_ptr<Slot[]> slots_;
  const Registration registration_;
  QueuePair datagrams_;
  std::vector<std::uint32_t> free_slots_;  // for cards to be sent
  std::vector<Connection*> waiting_;       // that are not open
  std::atomic<bool> are_under_way_{false};
};

}  // namespace weft::network::ibv
