// What is on its way in a simulated network.
#pragma once

#include "network/network.hpp"
#include "network/sim/schedule.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::network::sim {

/// Names a device in the whole job.
struct DeviceAddress {
  int rank;
  std::uint32_t device;
};

inline constexpr std::uint32_t kNoPacket = ~std::uint32_t{0};

/// A message under way: its payload, or the sender's packet that holds it.
struct Flight {
  Tick due = 0;
  std::uint64_t number = 0;
  std::uint64_t word = 0;
  std::uint8_t channel = 0;
  bool is_notice = false;
  std::uint32_t packet = kNoPacket;
  std::size_t size = 0;
  std::unique_ptr<std::byte[]> bytes;
};

/// Messages of one traffic class from one device to another, sorted by arrival.
struct Lane {
  DeviceAddress from;
  DeviceAddress to;
  TrafficClass traffic;
  Tick contact_at = 0;  // earlier sends are refused as not ready
  Tick last_due = 0;
  std::uint64_t newest_delivered = 0;
  std::uint64_t held_in = 0;  // number of the poll in which the receiver did not take the first message
  bool busy = false;          // a thread is delivering from it
  std::vector<Flight> flights;

  [[nodiscard]] std::size_t under_way() const noexcept { return flights.size() + (busy ? 1 : 0); }
  /// Without notices.
  [[nodiscard]] std::size_t awaited() const noexcept {
    std::size_t count = busy ? 1 : 0;
    for (const Flight& flight : flights) count += flight.is_notice ? 0 : 1;
    return count;
  }
};

/// Arrivals for one device.
struct Mailbox {
  struct End {
    Tick due;
    std::uint64_t number;
    std::uint64_t token;
    Outcome outcome;
  };
  struct Immediate {
    Tick due;
    std::uint64_t number;
    int from;
    std::uint64_t value;
  };
  struct Active {
    std::uint64_t number;
    std::uint32_t thread;
  };
  bool open = false;
  std::atomic<bool> exclusive{false};  // one thread at a time uses the device: see Port::set_exclusive()
  std::vector<Lane*> lanes;
  std::vector<End> ends;              // ends of accesses by this device
  std::vector<Immediate> immediates;  // of puts of peers
  std::vector<Active> active;         // deliveries that are running
  std::condition_variable bell;
  std::atomic<std::uint32_t> token{0};
  std::atomic<std::uint32_t> parked{0};

  /// Wakes the threads that are parked.
  void wake() noexcept {
    token.fetch_add(1, std::memory_order_relaxed);
    bell.notify_all();
  }
  /// Something is on its way to the device.
  void ring() noexcept {
    if (parked.load(std::memory_order_relaxed) != 0) wake();
  }
};

/// One step of a poll. A message's flight belongs to it meanwhile.
struct Delivery {
  enum class Kind : std::uint8_t { message, end, immediate };
  Kind kind = Kind::message;
  std::uint64_t number = 0;
  Lane* lane = nullptr;
  Flight flight;
  std::uint64_t value = 0;  // token or immediate
  int peer = -1;            // that has sent the immediate
  Outcome outcome = Outcome::ok;
};

}  // namespace weft::network::sim
