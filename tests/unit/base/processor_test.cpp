#include "base/host/processor.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace weft::base {
namespace {

#if defined(__x86_64__)
/// The value of a line of /proc/cpuinfo.
std::string of_first_processor(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

TEST(Processor, HasTheFamilyThatTheKernelTells) {
  const std::string vendor = of_first_processor("vendor_id");
  if (vendor.empty()) GTEST_SKIP() << "/proc/cpuinfo tells no vendor";
  EXPECT_EQ(amd_family(),
            vendor == "AuthenticAMD" ? std::stoul(of_first_processor("cpu family")) : std::size_t{0});
}
#else
// An emulator may show the kernel's words about the processor that it runs on.
TEST(Processor, OfAnotherKindIsNoneOfAmd) { EXPECT_EQ(amd_family(), 0U); }
#endif

}  // namespace
}  // namespace weft::base
