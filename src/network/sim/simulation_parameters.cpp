#include "network/sim/simulation_parameters.hpp"

namespace weft::network::sim {

using base::Attribute;

SimulationParameters::SimulationParameters(const base::Attributes& attributes) {
  const auto number = [&](Attribute attribute) {
    return static_cast<std::uint32_t>(attributes.integer(attribute));
  };
  constexpr std::size_t kImmediate[] = {0, 4, 8};  // the choices of sim_immediate
  seed = static_cast<std::uint64_t>(attributes.integer(Attribute::sim_seed));
  delay = number(Attribute::sim_delay);
  reorder = number(Attribute::sim_reorder);
  refuse = number(Attribute::sim_refuse);
  slow = number(Attribute::sim_slow);
  stale = number(Attribute::sim_stale);
  gone = number(Attribute::sim_gone);
  slots = number(Attribute::sim_slots);
  inject = number(Attribute::sim_inject);
  rma = attributes.boolean(Attribute::sim_rma);
  immediate = rma ? kImmediate[number(Attribute::sim_immediate)] : 0;
}

}  // namespace weft::network::sim
