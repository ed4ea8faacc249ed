#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// Makes a job of one rank, for a program that was started without a launcher: an in-process job of one rank
/// whose abort ends the process.
std::unique_ptr<Bootstrap> join_alone(std::unique_ptr<Bootstrap> in_process);

}  // namespace weft::bootstrap
