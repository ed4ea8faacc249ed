// The simulated job of one seed: how many ranks and devices, what the network does, and who is alive.
#pragma once

#include "network/sim/random.hpp"

#include <weft/testing/simulation.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weft::test {

/// Everything that chance decides in a test comes from one of these.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  int index(std::size_t bound) { return static_cast<int>(random_.below(bound)); }
  bool chance(std::uint32_t percent) { return random_.chance(percent); }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[random_.below(values.size())];
  }
  /// A payload size, most often at a border between protocols.
  std::size_t size(std::size_t inject, std::size_t packet);

 private:
  network::sim::Random random_;
};

class Job {
 public:
  /// `dies`: a rank dies in any case.
  explicit Job(std::uint64_t seed, bool dies = false);
  ~Job() { close_devices(), close_runtimes(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Dice dice;
  sim::Simulation& simulation() { return *simulation_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(runtimes_.size()); }
  [[nodiscard]] int devices() const { return devices_per_rank_; }
  Runtime& runtime(int rank) { return *runtimes_[static_cast<std::size_t>(rank)]; }
  Device& device(int rank, int index) { return devices_[at(rank, index)]; }
  /// Calls function(endpoint), whichever kind it is.
  template <class Function>
  auto with(int rank, int device, const Function& function) {
    return std::visit(function, endpoints_[at(rank, device)]);
  }

  /// Whether a rank is killed on the way; known beforehand, because then some promises do not hold.
  [[nodiscard]] bool has_death() const { return victim_ >= 0; }
  [[nodiscard]] bool is_alive(int rank) const { return rank != victim_ || !died_; }
  /// Whether the rank has noticed the death.
  [[nodiscard]] bool has_noticed(int rank) const {
    return runtimes_[static_cast<std::size_t>(rank)]->failed_peers() != 0;
  }
  /// Whether the rank lives to the end.
  [[nodiscard]] bool is_sound(int rank) const { return rank != victim_; }
  int rank_by_chance() { return dice.index(runtimes_.size()); }
  int device_by_chance() { return dice.index(static_cast<std::size_t>(devices_per_rank_)); }
  std::size_t size_by_chance() { return dice.size(inject_, packet_); }
  [[nodiscard]] std::size_t packet_size() const { return packet_; }
  [[nodiscard]] std::size_t packets() const { return packets_; }
  [[nodiscard]] std::string describe() const { return description_; }

  /// One progress of a rank and device that chance chooses; now and then a rank dies or pauses.
  void progress();
  /// A rank that has to die does so now.
  void kill_victim();
  /// One progress of every device of every living rank.
  void progress_all();

  /// Devices and runtimes end what has not ended: they go before the completion objects.
  void close_devices() {
    endpoints_.clear();
    devices_.clear();
  }
  void close_runtimes() { runtimes_.clear(); }

  /// The first thing that went wrong ends the run.
  void fail(const std::string& what);
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  [[nodiscard]] std::size_t at(int rank, int device) const {
    return static_cast<std::size_t>(rank * devices_per_rank_ + device);
  }
  void set(const char* name, const std::string& value);

  int devices_per_rank_ = 1;
  int victim_ = -1;
  bool died_ = false;
  std::uint64_t death_ = 0;
  std::size_t inject_ = 0;
  std::size_t packet_ = 0;
  std::size_t packets_ = 0;
  std::string description_;
  std::string fault_;
  std::vector<std::pair<const char*, std::string>> values_;
  std::unique_ptr<sim::Simulation> simulation_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<Device> devices_;
  std::vector<std::variant<Endpoint, SerialEndpoint>> endpoints_;
};

}  // namespace weft::test
