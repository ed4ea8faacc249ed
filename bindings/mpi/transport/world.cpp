#include "bindings/mpi/transport/world.hpp"

#include "bindings/mpi/transport/matching.hpp"

#include <sys/resource.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace weft::mpi {

World* world = nullptr;

namespace {

/// Whether addresses that are reserved and not used count: under a limit of the process, or of a host that
/// promises no more memory than it has.
bool are_addresses_limited() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> policy(
      std::fopen("/proc/sys/vm/overcommit_memory", "r"), std::fclose);
  return policy != nullptr && std::fgetc(policy.get()) == '2';
}

std::vector<AttributeSetting> settings() {
  // Collectives post inside signals, where nothing can wait for room.
  std::vector<AttributeSetting> all = {{"backlog_grows", "1"}};
  // Programs may send very many messages before the one that the receiver waits for. Credits are mere counts,
  // and requests, which long and synchronous messages take, mere addresses until they are used.
  if (std::getenv("WEFT_UNEXPECTED_CREDITS") == nullptr) all.push_back({"unexpected_credits", "65536"});
  if (std::getenv("WEFT_REQUESTS") == nullptr)
    all.push_back({"requests", are_addresses_limited() ? "4096" : "1048576"});
  return all;
}

World::Way way_of(std::string_view network) {
  if (network == "shm") return World::Way::shared_memory;
  return network == "tcp" ? World::Way::stream : World::Way::other;
}
World::Way way_within_host(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  return way_of(network == "mixed" ? "shm" : network);
}
World::Way way_between_hosts(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  return way_of(network == "mixed" ? runtime.attribute("remote_network") : network);
}

}  // namespace

World::World()
    : runtime({.attributes = settings(), .name = "weft-mpi"}),
      engine(runtime, {.id = kEngine, .order = MatchOrder::ordered}),
      endpoint(runtime),
      way_within_host(mpi::way_within_host(runtime)),
      way_between_hosts(mpi::way_between_hosts(runtime)),
      packet_bytes(runtime.device_limits().packet_bytes) {}

}  // namespace weft::mpi
