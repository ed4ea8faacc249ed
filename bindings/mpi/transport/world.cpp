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

World::Streams streams_of(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  if (network == "tcp") return World::Streams::everywhere;
  if (network == "mixed" && runtime.attribute("remote_network") == std::string_view("tcp"))
    return World::Streams::between_hosts;
  return World::Streams::none;
}

}  // namespace

World::World()
    : runtime({.attributes = settings(), .name = "weft-mpi"}),
      engine(runtime, {.id = kEngine, .order = MatchOrder::ordered}),
      endpoint(runtime),
      streams(streams_of(runtime)),
      packet_bytes(runtime.device_limits().packet_bytes) {}

}  // namespace weft::mpi
