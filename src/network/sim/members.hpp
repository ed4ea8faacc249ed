// The ranks of a simulated network.
#pragma once

#include "network/network.hpp"
#include "network/sim/flight.hpp"
#include "network/sim/handle_board.hpp"
#include "network/sim/schedule.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::network::sim {

struct Region {
  std::uint32_t generation;
  std::uint64_t key;
  std::span<std::byte> memory;
};

/// A rank: whether it lives, and what it has for its peers.
struct Member {
  struct Returned {
    Tick due;
    std::uint32_t index;
  };
  bool joined = false;
  bool left = false;
  bool killed = false;
  Network::Closing closing = Network::Closing::no;
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> lost;  // messages, by peer and own device
  Tick gone_at = 0;                                             // tick at which peers see that it was killed
  Tick paused_until = 0;
  std::uint32_t slow = 0;
  Network::PacketMemory packets;
  std::shared_ptr<std::byte> packet_memory;  // lives as long as a peer may read a packet
  std::vector<Returned> returned;
  std::uint32_t packets_away = 0;  // sent, and not reclaimed
  HandleBoard handles;
  std::map<std::uint32_t, Region> regions;
  std::map<std::uint64_t, Bytes> offers;                        // by key
  std::map<std::uint32_t, std::unique_ptr<Mailbox>> mailboxes;  // by device; stay when it closes

  [[nodiscard]] bool dead() const noexcept { return left || killed; }
};

/// All ranks, guarded by the fabric's mutex but for the two numbers that peers read.
class Members {
 public:
  Members(Schedule& schedule, int ranks);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(all_.size()); }
  [[nodiscard]] Member& at(int rank) noexcept { return all_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Member& at(int rank) const noexcept { return all_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<Member> all() noexcept { return all_; }
  Mailbox& mailbox(DeviceAddress address);
  /// Throws weft::Error when there is no such rank; the line begins with `what`.
  void check(int rank, const char* what) const;

  [[nodiscard]] bool has_left(int observer, int peer) const noexcept;
  /// Counts the deaths that peers see now.
  void show_failures() noexcept;
  /// Returns true when peers see another death since show_failures().
  [[nodiscard]] bool are_failures_due() const noexcept { return schedule_.now() >= next_failure_; }
  [[nodiscard]] bool is_a_death_unseen() const noexcept;
  /// The number of deaths that peers have seen. Any thread.
  [[nodiscard]] const std::atomic<std::uint32_t>& failures() const noexcept { return failures_; }
  /// The same, plus the ranks that have left. Any thread.
  [[nodiscard]] const std::atomic<std::uint32_t>& departures() const noexcept { return departures_; }

  /// A packet comes back to its owner after some time.
  void return_packet(int owner, std::uint32_t index) noexcept;
  std::size_t reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept;
  /// The memory of a rank that has left goes when all that it had sent has come back: nobody reads it any
  /// more.
  static void drop_unread_packets(Member& owner) noexcept;
  /// Counts messages to a rank that has left as lost. Messages of control are not lost: such a rank needs no
  /// credit and no answer.
  void note_lost(const Lane& lane, std::uint64_t messages) noexcept;
  void ring_all() noexcept;

 private:
  Schedule& schedule_;
  std::vector<Member> all_;
  Tick next_failure_ = kNever;  // tick at which peers see the next death
  std::atomic<std::uint32_t> failures_{0};
  std::atomic<std::uint32_t> departures_{0};
};

}  // namespace weft::network::sim
