// A deterministic, seeded network between several runtimes of one process, for testing protocols.
#pragma once

#include <weft/attributes.hpp>
#include <weft/detail/export.hpp>
#include <weft/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace weft::sim {

/// The properties of the simulated network. An option that is not set is taken from the attribute of the same
/// name with the prefix sim_ (variable WEFT_SIM_SEED and so on). Times are in ticks: every poll of any rank
/// is one, and so is every refused post. docs/guide/simulation.md describes the model.
struct Options {
  /// Ranks of the job, 1 to 4096.
  int ranks = 2;
  /// The seed of all random decisions: with one thread that drives all ranks, equal seeds give equal
  /// schedules.
  std::optional<std::uint64_t> seed{};
  /// Longest time that a message or an access is under way.
  std::optional<std::uint32_t> delay{};
  /// Percent of the messages that may overtake those before them between the same devices.
  std::optional<std::uint32_t> reorder{};
  /// Percent of the posts that are refused at random.
  std::optional<std::uint32_t> refuse{};
  /// Percent of the polls that deliver nothing.
  std::optional<std::uint32_t> slow{};
  /// Largest payload in bytes that travels without a packet.
  std::optional<std::uint32_t> inject{};
  /// Bytes that a put can announce to its target: 0, 4 or 8.
  std::optional<std::uint32_t> immediate{};
  /// Messages under way between two devices in one traffic class, and accesses to one peer.
  std::optional<std::uint32_t> slots{};
  /// True when puts and gets reach a peer's memory directly.
  std::optional<bool> rma{};
  /// Longest time until peers see that a handle was opened, stopped or withdrawn.
  std::optional<std::uint32_t> stale{};
  /// Time until peers see that a rank was killed by kill().
  std::optional<std::uint32_t> gone{};
};

/// Counts of the events so far.
struct Counters {
  std::uint64_t sent = 0;       ///< messages that the network has accepted
  std::uint64_t delivered = 0;  ///< of these, the delivered ones
  std::uint64_t lost = 0;       ///< of these, the ones to or from a rank that has been killed
  std::uint64_t in_flight = 0;  ///< of these, the ones under way now
  std::uint64_t reordered = 0;  ///< messages delivered after one that was sent later between the same devices
  std::uint64_t refused = 0;    ///< messages and accesses that the network has refused
  std::uint64_t accesses = 0;   ///< puts and gets that the network has accepted
};

/// A simulated job. Its ranks are runtimes of this process:
///
///     weft::sim::Simulation simulation({.ranks = 3, .seed = 7});
///     weft::Runtime runtime(simulation, 0);
///
/// Must outlive its runtimes. Any thread may call the members; schedules are reproducible only when one
/// thread drives all ranks.
class WEFT_API Simulation {
 public:
  /// Throws weft::Error for an option that is out of its attribute's range.
  explicit Simulation(const Options& options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  [[nodiscard]] int ranks() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// The number of ticks that have passed.
  [[nodiscard]] std::uint64_t now() const noexcept;
  [[nodiscard]] Counters counters() const noexcept;
  /// A digest of every event so far and its time: equal after equal schedules.
  [[nodiscard]] std::uint64_t schedule_hash() const noexcept;

  /// Kills the rank: no message reaches it or comes from it any more, not even one that is under way. Peers
  /// see it after the time `gone`; their operations then end as peer_failed. Its runtime can still be
  /// destroyed.
  void kill(int rank);
  /// The rank's polls deliver nothing for `ticks` ticks.
  void pause(int rank, std::uint64_t ticks);
  /// From now on, `percent` percent (0 to 99) of the rank's polls deliver nothing.
  void slow(int rank, std::uint32_t percent);

  struct State;
  [[nodiscard]] State& state() noexcept { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace weft::sim
