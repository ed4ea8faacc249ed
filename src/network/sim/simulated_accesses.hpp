// Regions, and the puts and gets that access them without their owner's help.
#pragma once

#include "network/network.hpp"
#include "network/sim/flight.hpp"
#include "network/sim/members.hpp"
#include "network/sim/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace weft::network::sim {

/// What time carries out by itself: accesses become visible in two steps and end some ticks later. All must
/// outlive the object.
class SimulatedAccesses {
 public:
  SimulatedAccesses(std::mutex& mutex, Schedule& schedule, Members& members) noexcept
      : mutex_(mutex), schedule_(schedule), members_(members) {}

  RegionKeys add_region(int rank, RegionName name, std::span<std::byte> memory);
  void remove_region(int rank, RegionName name) noexcept;
  AccessResult put(DeviceAddress from, int peer, const RemoteMemory& to, Bytes bytes,
                   const std::uint64_t* immediate, std::uint64_t token) noexcept;
  AccessResult get(DeviceAddress from, int peer, const RemoteMemory& memory, std::span<std::byte> to,
                   std::uint64_t token) noexcept;
  bool read(int reader, int peer, std::uint64_t address, std::span<std::byte> local) noexcept;
  /// Offers the memory, or by chance does not.
  Offer offer(int rank, Bytes memory) noexcept;
  void end_offer(int rank, const Offer& offer) noexcept;
  AccessResult fetch(DeviceAddress from, int peer, const OfferedMemory& memory, std::span<std::byte> to,
                     std::uint64_t token) noexcept;
  void stop_fetches(DeviceAddress address) noexcept;

  // Under the mutex:
  /// Time advances by one tick: deaths are seen, and accesses that are due are carried out.
  void tick() noexcept;
  /// Counts a refusal. It takes a tick, so that a program which only retries makes progress.
  void refused(int peer, std::uint64_t result, std::size_t size) noexcept;
  /// Drops the accesses that a rank, or a device, has begun.
  void drop_of(int rank) noexcept;
  void drop_of(DeviceAddress address) noexcept;
  /// The rank has died: the accesses that it has begun end for it at once. Its peers' accesses end when they
  /// would have been applied.
  void fail_of(int rank) noexcept;
  /// Returns true when an access by the device, or to its rank, is under way.
  [[nodiscard]] bool concern(DeviceAddress address) const noexcept;

 private:
  struct Access {
    DeviceAddress from;
    int peer;
    std::uint64_t token;
    std::uint64_t number;
    RemoteMemory memory;
    const std::byte* source;  // of a put
    std::byte* destination;   // of a get
    std::size_t size;
    bool has_immediate;
    std::uint64_t immediate;
    Tick first_at;  // tick at which the first half of a put becomes visible
    Tick apply_at;  // tick at which the rest becomes visible
    Tick end_at;    // tick at which the initiator learns of it
    bool begun;

    [[nodiscard]] bool is_from(DeviceAddress address) const noexcept {
      return from.rank == address.rank && from.device == address.device;
    }
  };

  [[nodiscard]] AccessResult start(Access access) noexcept;
  void apply_due() noexcept;
  /// Copies the bytes, as far as that is still allowed. Returns true when the access is over, and its end is
  /// on its way.
  bool apply(Access& access, bool all) noexcept;
  void end(const Access& access, Tick due, Outcome outcome) noexcept;
  [[nodiscard]] std::byte* find(const Access& access) noexcept;
  static constexpr std::uint32_t kOffered = ~std::uint32_t{0};  // index of a region that stands for an offer

  std::mutex& mutex_;
  Schedule& schedule_;
  Members& members_;
  std::vector<Access> accesses_;
};

}  // namespace weft::network::sim
