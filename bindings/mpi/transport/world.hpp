// The job that this process is a rank of, from MPI_Init to MPI_Finalize.
#pragma once

#include <weft/endpoint.hpp>
#include <weft/matching.hpp>
#include <weft/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <thread>

namespace weft::mpi {

/// weft's objects behind MPI: one device and one ordered engine for all communicators and threads.
struct World {
  /// What carries messages to a rank.
  enum class Way : std::uint8_t { shared_memory, stream, other };

  World();

  Runtime runtime;
  MatchingEngine engine;
  Endpoint endpoint;
  const Way way_within_host, way_between_hosts;
  const std::size_t packet_bytes;
  std::thread::id main_thread = std::this_thread::get_id();
  bool is_for_one_thread = false;  // the program has asked for no more
};

/// nullptr before MPI_Init and after MPI_Finalize.
extern World* world;

}  // namespace weft::mpi
