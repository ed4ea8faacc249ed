#pragma once

#include <cstdint>

namespace weft::base {

// Processes can share memory and see each other's process numbers when boot id and pid namespace are equal.

/// Returns the id of this start of the host's kernel, as a hash; the same value in all processes when it
/// cannot be read.
std::uint64_t read_boot_id();
/// Returns true when the process has no thread except the calling one and those of own_threads.hpp; false
/// when that cannot be read.
bool is_only_thread() noexcept;

/// Returns the id of the process's pid namespace; 0 when it cannot be read.
std::uint64_t read_pid_namespace();
/// Returns the id of the process's user namespace; 0 when it cannot be read.
std::uint64_t read_user_namespace();
/// Returns true when /proc exists and numbers processes as this process's pid namespace does.
bool has_own_proc();

}  // namespace weft::base
