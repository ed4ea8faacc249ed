// State that the ranks of a job share: the clock, the traffic under way, and the random numbers.
//
// Time is counted in ticks; every poll of any rank is one tick, and so is every refused post. Every message
// gets the tick at which it arrives. One mutex guards everything: with one thread that drives all ranks,
// equal seeds give equal schedules; with several threads, the network is merely correct.
// Sources: simulated_fabric.cpp (membership, control), simulated_fabric_messages.cpp,
// simulated_fabric_memory.cpp, simulated_fabric_waiting.cpp.
#pragma once

#include "network/network.hpp"
#include "network/sim/handle_board.hpp"
#include "network/sim/random.hpp"
#include "network/sim/simulation_parameters.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::network::sim {

using Tick = std::uint64_t;

/// Counters; all but in_flight only grow.
struct Counts {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t refused = 0;
  std::uint64_t reordered = 0;
  std::uint64_t lost = 0;
  std::uint64_t accesses = 0;
  std::uint64_t in_flight = 0;
};

struct Place {
  int rank;
  std::uint32_t device;
};

inline constexpr Tick kNever = ~Tick{0};
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
  Place from;
  Place to;
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
  std::vector<Lane*> lanes;
  std::vector<End> ends;              // ends of accesses by this device
  std::vector<Immediate> immediates;  // of puts of peers
  std::vector<Active> active;         // deliveries that are running
  std::condition_variable bell;
  std::atomic<std::uint32_t> token{0};
  std::atomic<std::uint32_t> parked{0};
};

/// One step of a poll. A message's flight belongs to it meanwhile.
struct Delivery {
  enum class Kind : std::uint8_t { message, end, immediate };
  Kind kind = Kind::message;
  std::uint64_t number = 0;
  Lane* lane = nullptr;
  Flight flight;
  std::uint64_t value = 0;  // token or immediate
  Outcome outcome = Outcome::ok;
};

class SimulatedFabric {
 public:
  SimulatedFabric(const SimulationParameters& parameters, int ranks);

  [[nodiscard]] const SimulationParameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(members_.size()); }

  // simulated_fabric.cpp
  /// Adds a rank. Throws weft::Error when the rank has joined already, or its parameters differ from those of
  /// the ranks before it.
  void join(int rank, const SimulationParameters& parameters, const Network::PacketMemory& packets,
            std::shared_ptr<std::byte> memory);
  void leave(int rank) noexcept;
  Mailbox& open_device(Place place);
  void close_device(Place place) noexcept;
  [[nodiscard]] bool has_left(int observer, int peer) noexcept;
  /// The number of deaths that peers have seen.
  [[nodiscard]] const std::atomic<std::uint32_t>& failures() const noexcept { return failures_; }
  [[nodiscard]] bool has_failed(int rank) noexcept;
  /// Returns true when the rank was killed, even if peers have not seen it yet.
  [[nodiscard]] bool is_killed(int rank) noexcept;
  /// The number of deaths that peers have seen, plus the ranks that have left.
  [[nodiscard]] const std::atomic<std::uint32_t>& departures() const noexcept { return departures_; }
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

  // simulated_fabric_messages.cpp
  SendResult send(Place from, const Outgoing& outgoing, Bytes payload, std::uint32_t packet,
                  bool exclusive) noexcept;
  /// Advances time by one tick. Returns the number of the poll, or 0 when it must deliver nothing.
  std::uint64_t begin_poll(Place place) noexcept;
  /// The deliveries that a poll may still make.
  struct Allowed {
    bool bulk;  // Urgency::last
    bool others;
  };
  /// Finds the next delivery that is due, in the order of Urgency; returns false when there is none.
  [[nodiscard]] bool next(Place place, Mailbox& mailbox, std::uint64_t poll, Allowed allowed,
                          Delivery& delivery) noexcept;
  /// Ends a delivery. `taken` false: the message stays, and its lane rests for the rest of this poll.
  void finish(Mailbox& mailbox, std::uint64_t poll, Delivery& delivery, bool taken) noexcept;
  [[nodiscard]] const std::byte* packet_data(int owner, std::uint32_t index) const noexcept;
  void quiesce(Mailbox& mailbox) noexcept;
  [[nodiscard]] bool drained(Place place) noexcept;
  [[nodiscard]] std::vector<Port::Unconsumed> unconsumed(Place place);
  /// Returns true when a message was ever sent from one rank to the other.
  [[nodiscard]] bool has_lane(int from, int to) noexcept;
  /// Returns true when messages or immediates of the rank are still to be delivered to the device.
  [[nodiscard]] bool has_traffic(int from, Place to) noexcept;

  // simulated_fabric_memory.cpp
  RegionKeys add_region(int rank, RegionName name, std::span<std::byte> memory);
  void remove_region(int rank, RegionName name) noexcept;
  AccessResult put(Place from, int peer, const RemoteMemory& to, Bytes bytes, const std::uint64_t* immediate,
                   std::uint64_t token, bool exclusive) noexcept;
  AccessResult get(Place from, int peer, const RemoteMemory& memory, std::span<std::byte> to,
                   std::uint64_t token, bool exclusive) noexcept;
  bool read(int reader, int peer, std::uint64_t address, std::span<std::byte> local) noexcept;
  /// Offers the memory, or by chance does not.
  Offer offer(int rank, Bytes memory) noexcept;
  void end_offer(int rank, const Offer& offer) noexcept;
  AccessResult fetch(Place from, int peer, const OfferedMemory& memory, std::span<std::byte> to,
                     std::uint64_t token, bool exclusive) noexcept;
  void stop_fetches(Place place) noexcept;

  // simulated_fabric_waiting.cpp
  /// Returns false while traffic is under way to the device, so that its waiting threads go on polling.
  [[nodiscard]] bool prepare_park(Place place, Mailbox& mailbox) noexcept;
  bool park(Place place, Mailbox& mailbox, std::uint32_t token, std::chrono::nanoseconds limit) noexcept;
  void wake(Mailbox& mailbox) noexcept;

 private:
  struct Region {
    std::uint32_t generation;
    std::uint64_t key;
    std::span<std::byte> memory;
  };
  struct Returned {
    Tick due;
    std::uint32_t index;
  };
  struct Member {
    bool joined = false;
    bool left = false;
    bool killed = false;
    Network::Closing closing = Network::Closing::no;
    std::map<std::pair<int, std::uint32_t>, std::uint64_t> lost;  // messages, by peer and own device
    Tick gone_at = 0;  // tick at which peers see that it was killed
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
  struct Access {
    Place from;
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
  };
  enum class Event : std::uint8_t {
    sent,
    refused,
    delivered,
    kept,
    lost,
    posted,
    applied,
    ended,
    arrived,
    killed
  };

  [[nodiscard]] Member& member(int rank) noexcept { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Member& member(int rank) const noexcept {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_awaited(const Lane& lane) noexcept;
  Mailbox& mailbox(Place place);
  [[nodiscard]] bool has_left_locked(int observer, int peer) noexcept;
  void tick() noexcept;
  /// Counts a refusal. It takes a tick, so that a program which only retries makes progress.
  void refused(int peer, std::uint64_t result, std::size_t size) noexcept;
  void note(Event event, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept;
  /// Returns a tick after a random delay.
  Tick some_time_from(Tick tick) noexcept {
    return tick + random_.below(std::uint64_t{parameters_.delay} + 1);
  }
  void return_locked(int owner, std::uint32_t index) noexcept;
  void drop_traffic_of(int rank) noexcept;
  void show_failures() noexcept;
  void drop_flights(Lane& way) noexcept;
  void drop_unread_packets(Member& owner) noexcept;
  void note_lost(const Lane& way, std::uint64_t messages) noexcept;
  void check_rank(int rank, const char* what) const;

  Lane& lane(Place from, Place to, TrafficClass traffic);
  [[nodiscard]] SendResult refusal(Lane& lane, const Outgoing& outgoing, bool exclusive) noexcept;

  [[nodiscard]] AccessResult start(Access access, bool exclusive) noexcept;
  void apply_due_accesses() noexcept;
  /// Copies the bytes, as far as that is still allowed. Returns true when the access is over, and its end is
  /// on its way.
  bool apply(Access& access, bool all) noexcept;
  void end(const Access& access, Tick due, Outcome outcome) noexcept;
  [[nodiscard]] std::byte* find(const Access& access) noexcept;
  static constexpr std::uint32_t kOffered = ~std::uint32_t{0};  // index of a region that stands for an offer

  [[nodiscard]] bool expects_something(Place place, const Mailbox& mailbox) noexcept;
  void ring(Mailbox& mailbox) noexcept;
  void ring_all() noexcept;

  const SimulationParameters parameters_;
  std::mutex mutex_;  // guards the members below, and all objects that they point to
  Random random_;
  Tick now_ = 0;
  Tick next_failure_ = kNever;  // tick at which peers see the next death
  std::atomic<std::uint32_t> failures_{0};
  std::atomic<std::uint32_t> departures_{0};
  std::uint64_t numbers_ = 0;  // of messages, deliveries and polls
  std::uint64_t schedule_hash_ = 0;
  Counts counts_;
  std::vector<Member> members_;
  std::deque<Lane> lanes_;
  std::vector<Access> accesses_;
  std::condition_variable delivered_;
  std::uint32_t quiescing_ = 0;
};

/// Inserts an item into a vector sorted by the field `due`, behind items of the same tick.
template <class Item>
void insert_by_due(std::vector<Item>& items, Item item) {
  auto place = items.end();
  while (place != items.begin() && (place - 1)->due > item.due) --place;
  items.insert(place, std::move(item));
}

}  // namespace weft::network::sim
