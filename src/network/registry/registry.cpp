#include "network/registry/registry.hpp"

#include <weft/error.hpp>

#include "base/log.hpp"
#include "network/ibv/ibv.hpp"
#include "network/mixed/mixed_network.hpp"
#include "network/ofi/ofi.hpp"
#include "network/shm/shm_network.hpp"
#include "network/sim/sim_network.hpp"
#include "network/tcp/tcp.hpp"

#include <algorithm>
#include <utility>

namespace weft::network {

namespace {

using base::Attributes;
using PacketMemory = Network::PacketMemory;

std::unique_ptr<Network> make_shm(bootstrap::Bootstrap& bootstrap, const Attributes& attributes,
                                  detail::PayloadLender& copier, const PacketMemory&) {
  return std::make_unique<shm::ShmNetwork>(bootstrap, attributes, copier);
}

std::unique_ptr<Network> make_sim(bootstrap::Bootstrap& bootstrap, const Attributes& attributes,
                                  detail::PayloadLender& copier, const PacketMemory&) {
  return std::make_unique<sim::SimNetwork>(bootstrap, attributes, copier);
}

const NetworkRow& remote_of(const Attributes& attributes) {
  return network_named(attributes.text(base::Attribute::remote_network));
}

/// Shared memory within a host, the attribute remote_network between hosts.
std::unique_ptr<Network> make_mixed(bootstrap::Bootstrap& bootstrap, const Attributes& attributes,
                                    detail::PayloadLender& copier, const PacketMemory&) {
  auto local = std::make_unique<shm::ShmNetwork>(bootstrap, attributes, copier, shm::OutOfReach::is_told);
  auto remote = remote_of(attributes).make(bootstrap, attributes, copier, local->packet_memory());
  const base::Log log(attributes, bootstrap.rank(), base::LogModule::mixed);
  return std::make_unique<mixed::MixedNetwork>(bootstrap.size(), std::move(local), std::move(remote), log);
}

Availability availability_of_mixed(const Attributes& attributes) {
  const NetworkRow& remote = remote_of(attributes);
  Availability found = remote.availability(attributes);
  if (found.present) found.remark = "shm within a host, " + std::string(remote.name) + " between hosts";
  return found;
}

constexpr NetworkRow kNetworks[] = {
    {"shm", Extent::host,
     [](const Attributes&) {
       return Availability{true, "memory shared by the ranks of one host"};
     },
     make_shm},
    {"sim", Extent::process,
     [](const Attributes&) {
       return Availability{true, "simulated, between the ranks of one process"};
     },
     make_sim},
    {"tcp", Extent::hosts, tcp::availability, tcp::make_network},
    {"ofi", Extent::hosts, ofi::availability, ofi::make_network},
    {"ibv", Extent::hosts, ibv::availability, ibv::make_network},
    {"mixed", Extent::hosts, availability_of_mixed, make_mixed},
};

}  // namespace

std::span<const NetworkRow> networks() noexcept { return kNetworks; }

const NetworkRow& network_named(std::string_view name) {
  const auto found = std::ranges::find_if(
      kNetworks, [name](const NetworkRow& row) { return row.name == name && row.make != nullptr; });
  if (found != std::end(kNetworks)) return *found;
  std::string names;
  for (const NetworkRow& row : kNetworks)
    if (row.make != nullptr) names += (names.empty() ? "" : ", ") + std::string(row.name);
  throw Error(ErrorClass::network, "there is no network \"" + std::string(name) + "\": there are " + names);
}

std::unique_ptr<Network> make_network(std::string_view name, bootstrap::Bootstrap& bootstrap,
                                      const Attributes& attributes, detail::PayloadLender& copier) {
  return network_named(name).make(bootstrap, attributes, copier, {});
}

}  // namespace weft::network
