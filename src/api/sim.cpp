#include <weft/testing/simulation.hpp>

#include "api/simulation.hpp"

#include <string>
#include <vector>

namespace weft::sim {

namespace {

/// Returns the options that are set, as attributes.
base::Attributes attributes_of(const Options& options) {
  std::vector<std::pair<const char*, std::string>> values;
  const auto add = [&](const char* name, const auto& option) {
    if (option.has_value()) values.emplace_back(name, std::to_string(*option));
  };
  add("sim_seed", options.seed);
  add("sim_delay", options.delay);
  add("sim_reorder", options.reorder);
  add("sim_refuse", options.refuse);
  add("sim_slow", options.slow);
  add("sim_inject", options.inject);
  add("sim_immediate", options.immediate);
  add("sim_slots", options.slots);
  add("sim_stale", options.stale);
  add("sim_gone", options.gone);
  if (options.rma.has_value()) values.emplace_back("sim_rma", *options.rma ? "yes" : "no");
  std::vector<AttributeSetting> settings;
  for (const auto& [name, value] : values) settings.push_back({name, value.c_str()});
  return base::Attributes::load(settings);
}

}  // namespace

Simulation::Simulation(const Options& options)
    : state_(std::make_unique<State>(options, attributes_of(options))) {}
Simulation::~Simulation() = default;

int Simulation::ranks() const noexcept { return state_->fabric->size(); }
std::uint64_t Simulation::seed() const noexcept { return state_->fabric->parameters().seed; }
std::uint64_t Simulation::now() const noexcept { return state_->fabric->now(); }
std::uint64_t Simulation::schedule_hash() const noexcept { return state_->fabric->schedule_hash(); }

Counters Simulation::counters() const noexcept {
  const network::sim::Counts counts = state_->fabric->counts();
  return {counts.sent,      counts.delivered, counts.lost,    counts.in_flight,
          counts.reordered, counts.refused,   counts.accesses};
}

void Simulation::kill(int rank) { state_->fabric->kill(rank); }
void Simulation::pause(int rank, std::uint64_t ticks) { state_->fabric->pause(rank, ticks); }
void Simulation::slow(int rank, std::uint32_t percent) { state_->fabric->slow(rank, percent); }

}  // namespace weft::sim
