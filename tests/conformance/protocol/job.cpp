#include "conformance/protocol/job.hpp"

namespace weft::test {

std::size_t Dice::size(std::size_t inject, std::size_t packet) {
  const std::size_t step = below(3);  // one less, equal, one more
  switch (below(8)) {
    case 0:
      return below(49);
    case 1:
      return inject + step - (inject != 0 ? 1 : 0);
    case 2:
      return one_of<std::size_t>({16, 32, 48, 64, 112}) + step - 1;
    case 3:
      return packet + step - 1;
    case 4:
      return packet - 16 * below(4) + step - 1;
    case 5:
      return 2 * packet + step - 1 - 16 * below(3);
    case 6:
      return below(packet);
    default:
      return below(chance(20) ? 20 * packet : 3 * packet);
  }
}

void Job::set(const char* name, const std::string& value) {
  values_.emplace_back(name, value);
  description_.append(" ").append(name).append("=").append(value);
}

Job::Job(std::uint64_t seed, bool dies) : dice(seed) {
  const int ranks = 2 + dice.index(4);
  devices_per_rank_ = dice.chance(60) ? 1 : 2;
  if (dice.chance(20) || dies) victim_ = dice.index(static_cast<std::size_t>(ranks));
  death_ = dice.below(4000);
  description_ = "ranks=" + std::to_string(ranks) + " devices=" + std::to_string(devices_per_rank_) +
                 (victim_ >= 0 ? " victim=" + std::to_string(victim_) : "");

  sim::Options options;
  options.ranks = ranks;
  options.seed = seed;
  options.delay = dice.one_of<std::uint32_t>({0, 3, 20, 150});
  options.reorder = dice.one_of<std::uint32_t>({0, 50, 100});
  options.refuse = dice.one_of<std::uint32_t>({0, 5, 40});
  options.slow = dice.one_of<std::uint32_t>({0, 0, 30, 80});
  options.inject = dice.one_of<std::uint32_t>({0, 16, 64, 432});
  options.immediate = dice.one_of<std::uint32_t>({0, 4, 8});
  options.slots = dice.one_of<std::uint32_t>({1, 2, 8, 64});
  options.rma = dice.chance(60);
  options.stale = dice.one_of<std::uint32_t>({0, 10, 100});
  options.gone = dice.one_of<std::uint32_t>({0, 50, 500});
  simulation_ = std::make_unique<sim::Simulation>(options);
  inject_ = *options.inject;
  description_ += " delay=" + std::to_string(*options.delay) +
                  " reorder=" + std::to_string(*options.reorder) +
                  " refuse=" + std::to_string(*options.refuse) + " slow=" + std::to_string(*options.slow) +
                  " inject=" + std::to_string(inject_) + " immediate=" + std::to_string(*options.immediate) +
                  " slots=" + std::to_string(*options.slots) + " rma=" + std::to_string(*options.rma);

  packet_ = dice.one_of<std::size_t>({1024, 2048});
  packets_ = dice.one_of<std::size_t>({16, 64});
  set("packet_size", std::to_string(packet_));
  set("packets", std::to_string(packets_));
  set("packet_magazine", dice.one_of<const char*>({"1", "8"}));
  set("held_packets", dice.one_of<const char*>({"1", "64"}));
  set("requests", dice.one_of<const char*>({"16", "256"}));
  const bool small_backlog = dice.chance(50);
  set("backlog", small_backlog ? "8" : "256");
  set("backlog_peer", small_backlog ? "4" : "64");
  set("unexpected_credits", dice.one_of<const char*>({"1", "4", "64"}));
  set("rendezvous", dice.one_of<const char*>({"copy", "read"}));
  set("drain_timeout", "2");
  std::vector<AttributeSetting> settings;
  for (const auto& [name, value] : values_) settings.push_back({name, value.c_str()});
  for (int rank = 0; rank < ranks; ++rank)
    runtimes_.push_back(
        std::make_unique<Runtime>(*simulation_, rank, RuntimeOptions{.attributes = settings}));
  for (auto& each : runtimes_)
    for (int index = 0; index < devices_per_rank_; ++index) {
      devices_.emplace_back(*each, DeviceOptions{.index = index});
      if (dice.chance(50))
        endpoints_.emplace_back(std::in_place_type<Endpoint>, devices_.back());
      else
        endpoints_.emplace_back(std::in_place_type<SerialEndpoint>, devices_.back());
    }
}

void Job::progress() {
  if (simulation_->now() >= death_) kill_victim();
  const int rank = rank_by_chance();
  if (!is_alive(rank)) return progress_all();
  if (dice.below(500) == 0) simulation_->pause(rank, dice.below(200));
  with(rank, device_by_chance(), [](auto& endpoint) { return endpoint.progress(); });
}

void Job::kill_victim() {
  if (victim_ < 0 || died_) return;
  simulation_->kill(victim_);
  died_ = true;
}

void Job::progress_all() {
  for (int rank = 0; rank < ranks(); ++rank)
    for (int device = 0; is_alive(rank) && device < devices_per_rank_; ++device)
      with(rank, device, [](auto& endpoint) { return endpoint.progress(); });
}

void Job::fail(const std::string& what) {
  if (fault_.empty()) fault_ = what + " (tick " + std::to_string(simulation_->now()) + ")";
}

}  // namespace weft::test
