// What the ranks of a job on a simulated network share: the clock, the traffic under way, the random numbers.
//
// Time is counted in ticks; every poll of any rank is one tick, and so is every refused post. Every message
// gets the tick at which it arrives. One mutex guards everything: with one thread that drives all ranks,
// equal seeds give equal schedules; with several threads, the network is merely correct.
#pragma once

#include "network/network.hpp"
#include "network/sim/flight.hpp"
#include "network/sim/members.hpp"
#include "network/sim/schedule.hpp"
#include "network/sim/simulated_accesses.hpp"
#include "network/sim/simulated_parking.hpp"
#include "network/sim/simulated_traffic.hpp"
#include "network/sim/simulation_parameters.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace weft::network::sim {

/// Membership of the ranks, and what a test does to them; messages, accesses and parking are objects of their
/// own.
class SimulatedFabric {
 public:
  SimulatedFabric(const SimulationParameters& parameters, int ranks)
      : schedule_(parameters), members_(schedule_, ranks) {}

  [[nodiscard]] const SimulationParameters& parameters() const noexcept { return schedule_.parameters(); }
  [[nodiscard]] int size() const noexcept { return members_.size(); }
  [[nodiscard]] SimulatedTraffic& messages() noexcept { return traffic_; }
  [[nodiscard]] SimulatedAccesses& memory() noexcept { return accesses_; }
  [[nodiscard]] SimulatedParking& parking() noexcept { return parking_; }

  /// Adds a rank. Throws weft::Error when the rank has joined already, or its parameters differ from those of
  /// the ranks before it.
  void join(int rank, const SimulationParameters& parameters, const Network::PacketMemory& packets,
            std::shared_ptr<std::byte> memory);
  void leave(int rank) noexcept;
  Mailbox& open_device(DeviceAddress address);
  void close_device(DeviceAddress address) noexcept;
  [[nodiscard]] bool has_left(int observer, int peer) noexcept;
  /// The number of deaths that peers have seen.
  [[nodiscard]] const std::atomic<std::uint32_t>& failures() const noexcept { return members_.failures(); }
  [[nodiscard]] bool has_failed(int rank) noexcept;
  /// Returns true when the rank was killed, even if peers have not seen it yet.
  [[nodiscard]] bool is_killed(int rank) noexcept;
  /// The number of deaths that peers have seen, plus the ranks that have left.
  [[nodiscard]] const std::atomic<std::uint32_t>& departures() const noexcept {
    return members_.departures();
  }
  [[nodiscard]] bool has_left(int rank) noexcept;
  void publish_closing(int rank, Network::Closing how) noexcept;
  [[nodiscard]] Network::Closing closing(int rank) noexcept;
  void publish_handle(int rank, std::uint16_t id, std::uint16_t generation, HandleState state) noexcept;
  void return_packet(int owner, std::uint32_t index) noexcept;
  std::size_t reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept;
  /// The number of packets that were sent and not reclaimed.
  [[nodiscard]] std::uint32_t packets_away(int owner) noexcept;

  [[nodiscard]] Tick now() noexcept;
  [[nodiscard]] Counts counts() noexcept;
  [[nodiscard]] std::uint64_t schedule_hash() noexcept;
  void kill(int rank);
  void pause(int rank, Tick ticks);
  void slow(int rank, std::uint32_t percent);

 private:
  std::mutex mutex_;  // guards the objects below, and all that they point to
  Schedule schedule_;
  Members members_;
  SimulatedAccesses accesses_{mutex_, schedule_, members_};
  SimulatedTraffic traffic_{mutex_, schedule_, members_, accesses_};
  SimulatedParking parking_{mutex_, members_, accesses_};
};

}  // namespace weft::network::sim
