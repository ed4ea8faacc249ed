// Time, chance and counts of a simulated network.
#pragma once

#include "network/sim/random.hpp"
#include "network/sim/simulation_parameters.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::network::sim {

using Tick = std::uint64_t;

inline constexpr Tick kNever = ~Tick{0};

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

/// The clock, the random numbers, and a hash of everything that has happened. Guarded by the fabric's mutex.
class Schedule {
 public:
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

  explicit Schedule(const SimulationParameters& parameters)
      : parameters_(parameters), random_(parameters.seed), hash_(parameters.seed) {}

  [[nodiscard]] const SimulationParameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] Random& random() noexcept { return random_; }
  [[nodiscard]] Tick now() const noexcept { return now_; }
  Tick advance() noexcept { return ++now_; }
  /// The number of the next message, delivery or poll.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }
  [[nodiscard]] std::uint64_t newest_number() const noexcept { return numbers_; }
  /// Returns a tick after a random delay.
  [[nodiscard]] Tick some_time_from(Tick tick) noexcept {
    return tick + random_.below(std::uint64_t{parameters_.delay} + 1);
  }
  void note(Event event, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
    const std::uint64_t what = static_cast<std::uint64_t>(event) << 56 ^ now_;
    for (const std::uint64_t value : {what, a, b, c}) hash_ = Random::mix(hash_ * 31 + value);
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }

 private:
  const SimulationParameters parameters_;
  Random random_;
  Tick now_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t hash_;
  Counts counts_;
};

/// Inserts an item into a vector sorted by the field `due`, behind items of the same tick.
template <class Item>
void insert_by_due(std::vector<Item>& items, Item item) {
  auto position = items.end();
  while (position != items.begin() && (position - 1)->due > item.due) --position;
  items.insert(position, std::move(item));
}

}  // namespace weft::network::sim
