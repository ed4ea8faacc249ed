// Error texts for system calls that have failed.
#pragma once

#include <cstdint>
#include <string>

namespace weft::base {

/// Returns "mmap: Cannot allocate memory", from the value of errno; for errors that a limit of the process
/// may have caused, followed by that limit, if it is set: "(its address space is limited to 1000000 KiB,
/// `ulimit -v`)".
std::string failed_call(const char* call, int error);

/// Throws weft::Error when files of this process may not have so many bytes (RLIMIT_FSIZE): exceeding that
/// limit would end the process by a signal without a message. `what` begins the line: "a segment of 5 bytes
/// (attribute segment_size)".
void check_file_size(std::uint64_t bytes, const std::string& what);

}  // namespace weft::base
