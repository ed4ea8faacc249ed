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
  /// Which ranks a byte stream carries messages to.
  enum class Streams : std::uint8_t { none, between_hosts, everywhere };

  World();

  Runtime runtime;
  MatchingEngine engine;
  Endpoint endpoint;
  const Streams streams;
  const std::size_t packet_bytes;
  std::thread::id main_thread = std::this_thread::get_id();
};

/// nullptr before MPI_Init and after MPI_Finalize.
extern World* world;

}  // namespace weft::mpi
