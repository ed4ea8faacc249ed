#include "bindings/mpi/transport/world.hpp"

#include "bindings/mpi/transport/matching.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace weft::mpi {

World* world = nullptr;

namespace {
std::vector<AttributeSetting> settings() {
  // Collectives post inside signals, where nothing can wait for room.
  std::vector<AttributeSetting> all = {{"backlog_grows", "1"}};
  // Programs may send very many messages before the one that the receiver waits for. Credits are mere counts;
  // requests, which long and synchronous messages take, have their memory from the start.
  if (std::getenv("WEFT_UNEXPECTED_CREDITS") == nullptr) all.push_back({"unexpected_credits", "65536"});
  if (std::getenv("WEFT_REQUESTS") == nullptr) all.push_back({"requests", "4096"});
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
