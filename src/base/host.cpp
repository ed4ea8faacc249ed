#include "base/host.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace weft::base {

std::uint64_t read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

std::uint64_t read_pid_namespace() {
  struct stat information {};
  return ::stat("/proc/self/ns/pid", &information) == 0 ? information.st_ino : 0;
}

}  // namespace weft::base
