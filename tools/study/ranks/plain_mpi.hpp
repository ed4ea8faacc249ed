// What a program does that uses MPI alone, without tasks: the reference for Task Bench's stencil.
#pragma once

#include <nlohmann/json.hpp>

namespace weft::tools::study {

/// Runs the cases that are stencils of one dimension, one thread per rank; others answer {}. Returns the exit
/// code. Throws weft::Error.
int plain_mpi_main(const nlohmann::json& job);

}  // namespace weft::tools::study
