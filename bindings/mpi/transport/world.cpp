#include "bindings/mpi/transport/world.hpp"

#include "bindings/mpi/transport/matching.hpp"

namespace weft::mpi {

World* world = nullptr;

namespace {
// Collectives post inside signals, where nothing can wait for room.
constexpr AttributeSetting kSettings[] = {{"backlog_grows", "1"}};
}  // namespace

World::World()
    : runtime({.attributes = kSettings, .name = "weft-mpi"}),
      engine(runtime, {.id = kEngine, .order = MatchOrder::ordered}),
      endpoint(runtime) {}

}  // namespace weft::mpi
