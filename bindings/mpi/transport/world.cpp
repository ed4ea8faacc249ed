#include "bindings/mpi/transport/world.hpp"

#include "bindings/mpi/transport/matching.hpp"

#include <cstdlib>
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
}  // namespace

World::World()
    : runtime({.attributes = settings(), .name = "weft-mpi"}),
      engine(runtime, {.id = kEngine, .order = MatchOrder::ordered}),
      endpoint(runtime) {}

}  // namespace weft::mpi
