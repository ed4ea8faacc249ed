#pragma once

#include <cstdint>

namespace weft::base {

// Processes share memory and see each other's numbers where both of these are equal.

/// Of this start of the host's kernel, as a hash; equal for all processes where it cannot be read.
std::uint64_t read_boot_id();
/// Of the namespace that the process's number is of; 0 where it cannot be read.
std::uint64_t read_pid_namespace();

}  // namespace weft::base
