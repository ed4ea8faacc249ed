// Parameters of a simulated network.
#pragma once

#include "base/attributes.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::sim {

/// The attributes sim_*; docs/guide/simulation.md describes them.
struct SimulationParameters {
  std::uint64_t seed = 1;
  std::uint32_t delay = 0;    // ticks
  std::uint32_t reorder = 0;  // percent
  std::uint32_t refuse = 0;   // percent
  std::uint32_t slow = 0;     // percent
  std::uint32_t stale = 0;    // ticks
  std::uint32_t gone = 0;     // ticks
  std::uint32_t slots = 16;
  std::size_t inject = 16;
  std::size_t immediate = 4;
  bool rma = true;

  explicit SimulationParameters(const base::Attributes& attributes);
  friend bool operator==(const SimulationParameters&, const SimulationParameters&) = default;
};

}  // namespace weft::network::sim
