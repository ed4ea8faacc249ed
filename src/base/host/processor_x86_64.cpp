#include "base/host/processor.hpp"

#include <cpuid.h>

#include <cstring>

namespace weft::base {

namespace {

/// AMD64 Architecture Programmer's Manual, volume 3, appendix E: CPUID functions 0 and 1.
unsigned read_amd_family() noexcept {
  unsigned highest = 0;
  unsigned vendor[3] = {};
  if (__get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]) == 0 ||
      std::memcmp(vendor, "AuthenticAMD", sizeof vendor) != 0)
    return 0;
  unsigned version = 0;
  unsigned unused = 0;
  if (__get_cpuid(1, &version, &unused, &unused, &unused) == 0) return 0;
  return (version >> 8 & 0xf) + (version >> 20 & 0xff);
}

}  // namespace

unsigned amd_family() noexcept {
  static const unsigned family = read_amd_family();
  return family;
}

}  // namespace weft::base
