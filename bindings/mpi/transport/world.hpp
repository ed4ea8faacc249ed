// The job that this process is a rank of, from MPI_Init to MPI_Finalize.
#pragma once

#include <weft/endpoint.hpp>
#include <weft/matching.hpp>
#include <weft/runtime.hpp>

#include <thread>

namespace weft::mpi {

/// weft's objects behind MPI: one device and one ordered engine for all communicators and threads.
struct World {
  World();

  Runtime runtime;
  MatchingEngine engine;
  Endpoint endpoint;
  std::thread::id main_thread = std::this_thread::get_id();
};

/// nullptr before MPI_Init and after MPI_Finalize.
extern World* world;

}  // namespace weft::mpi
