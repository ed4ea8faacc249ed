// What a process holds, by which leaks show.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::test {

struct ProcessSize {
  std::size_t resident_kib = 0;
  std::size_t mappings = 0;
  std::size_t descriptors = 0;

  void raise_to(const ProcessSize& other) {
    resident_kib = std::max(resident_kib, other.resident_kib);
    mappings = std::max(mappings, other.mappings);
    descriptors = std::max(descriptors, other.descriptors);
  }
};

/// Of the calling process, at this moment.
inline ProcessSize process_size() {
  ProcessSize size;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++size.mappings;
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  size.resident_kib = resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++size.descriptors;
  return size;
}

}  // namespace weft::test
