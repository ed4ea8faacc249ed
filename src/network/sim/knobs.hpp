// How a simulated network behaves.
#pragma once

#include "base/attributes.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::sim {

/// The attributes sim_*; docs/simulation.md describes them.
struct Knobs {
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

  explicit Knobs(const base::Attributes& attributes);
  friend bool operator==(const Knobs&, const Knobs&) = default;
};

}  // namespace weft::network::sim
