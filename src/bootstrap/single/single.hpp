#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// A job of one rank, for a program that was started without a launcher.
std::unique_ptr<Bootstrap> join_alone(double timeout_seconds);

}  // namespace weft::bootstrap
