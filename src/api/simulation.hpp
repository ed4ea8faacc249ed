// The state of a simulation.
#pragma once

#include <weft/testing/in_process_job.hpp>
#include <weft/testing/simulation.hpp>

#include "base/attributes.hpp"
#include "network/sim/simulated_fabric.hpp"

#include <memory>
#include <span>
#include <vector>

namespace weft::sim {

struct Simulation::State {
  State(const Options& options, base::Attributes effective)
      : attributes(std::move(effective)),
        job(options.ranks),
        fabric(std::make_shared<network::sim::SimulatedFabric>(network::sim::SimulationParameters(attributes),
                                                               options.ranks)) {}

  /// Returns the settings of a runtime of this simulation: `others`, and the settings that all ranks must
  /// have in common.
  [[nodiscard]] std::vector<AttributeSetting> settings(std::span<const AttributeSetting> others) const {
    std::vector<AttributeSetting> all(others.begin(), others.end());
    all.push_back({"network", "sim"});
    for (const base::AttributeRow& row : base::kAttributeTable)
      if (row.name.starts_with("sim_")) all.push_back({row.name.data(), attributes.text(row.id).data()});
    return all;
  }

  const base::Attributes attributes;
  InProcessJob job;
  const std::shared_ptr<network::sim::SimulatedFabric> fabric;
};

}  // namespace weft::sim
