// Memory files: files in memory without a name.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace weft::base {

/// Makes a memory file of `bytes` zeroes that only this user may open, closed on exec. `seals`: F_SEAL_* to
/// be put on it. `what` begins the weft::Error that is thrown on failure: "a segment of 5 bytes (attribute
/// segment_size)". The kernel frees the file with its last mapping, however processes end.
Descriptor make_memory_file(const char* name, std::uint64_t bytes, int seals, const std::string& what);

}  // namespace weft::base
