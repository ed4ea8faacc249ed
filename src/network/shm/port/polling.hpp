// Polling: the lanes that are polled, and their order.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lanes.hpp"
#include "network/shm/lane/reply_slots.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/port/doorbell.hpp"
#include "network/shm/port/receiver.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::network::shm {

/// The receiving half of a port: the lanes that lead to it, what receives from them, and the order in which
/// they are polled. It has its parts as members, so that a poll that finds nothing follows no pointer to
/// them.
class Polling {
 public:
  /// `path`: the lanes for data from the device. All must outlive the object.
  Polling(const Shared& shared, std::uint32_t device, const detail::DevicePath& path,
          detail::PayloadLender& copier) noexcept
      : lanes_(shared, device),
        reply_slots_(shared, lanes_, path),
        receiver_(lanes_, reply_slots_, copier),
        doorbell_(shared, lanes_, reply_slots_) {}

  [[nodiscard]] ReceiveLanes& lanes() noexcept { return lanes_; }
  [[nodiscard]] ReplySlots& reply_slots() noexcept { return reply_slots_; }
  [[nodiscard]] Doorbell& doorbell() noexcept { return doorbell_; }
  [[nodiscard]] const Doorbell& doorbell() const noexcept { return doorbell_; }

  // polling.cpp
  /// See Port::poll().
  std::size_t poll(Sink& sink, std::size_t limit) noexcept;

 private:
  static constexpr int kPolledAllUpTo = 16;    // hot lanes; with more, idle ones are cooled
  static constexpr std::uint32_t kSkips = 15;  // polls in a row that may leave out the lanes of other threads
  /// For polls of all lanes: the lane that was last found with messages.
  struct alignas(64) Recent {
    std::atomic<std::uint32_t> lane{0};
    std::atomic<std::uint32_t> in_a_row{0};  // polls in a row that took messages from it, up to kInARow
    std::atomic<std::uint32_t> skips{0};     // polls that may still leave out the other lanes
  };
  /// For the threads with one thread number, modulo the number of columns, that share the device.
  struct alignas(64) Skips {
    std::atomic<std::uint32_t> left{0};  // polls that may still leave out the lanes of other threads
  };

  bool enter(ReceiveLane& lane) const noexcept;
  std::size_t poll_all(std::uint32_t words, Sink& sink, std::size_t limit) noexcept;
  std::size_t poll_ping_pong(Sink& sink, std::size_t limit) noexcept;
  void note_visit(std::uint32_t index) noexcept;
  std::size_t poll_lane(std::uint32_t index, Sink& sink, std::size_t limit) noexcept;
  void cool_now_and_then() noexcept;
  // by_priority.cpp
  std::size_t poll_in_order(Sink& sink, std::size_t limit) noexcept;
  std::size_t poll_urgent(Sink& sink, std::size_t limit) noexcept;
  std::size_t poll_bulk(Sink& sink) noexcept;
  // shared_device.cpp
  std::size_t poll_own_first(Sink& sink, std::size_t limit) noexcept;
  std::size_t visit_lane(std::uint32_t index, Sink& sink, std::size_t limit, std::uint32_t thread, bool alone,
                         bool& awaits_answer) noexcept;

  ReceiveLanes lanes_;
  ReplySlots reply_slots_;
  Receiver receiver_;
  Doorbell doorbell_;
  Recent recent_;
  std::array<Skips, ReceiveLanes::kColumns> skips_;  // by column
  std::atomic<std::uint32_t> bulk_turn_{0};          // lane with which the next poll of bulk lanes begins
};

}  // namespace weft::network::shm
