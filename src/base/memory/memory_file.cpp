#include "base/memory/memory_file.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::base {
namespace {

// A flag of memfd_create since Linux 6.3; with vm.memfd_noexec=2 files cannot be made without it.
constexpr unsigned kNoExecution = 0x0008U;

}  // namespace

Descriptor make_memory_file(const char* name, std::uint64_t bytes, int seals, const std::string& what) {
  check_file_size(bytes, what);
  const unsigned flags = MFD_CLOEXEC | (seals != 0 ? MFD_ALLOW_SEALING : 0U);
  Descriptor file{::memfd_create(name, flags | kNoExecution)};
  if (!file && errno == EINVAL) file = Descriptor{::memfd_create(name, flags)};
  const auto require = [&](bool holds, const char* call) {
    if (!holds) throw Error(ErrorClass::system, what + " cannot be made: " + failed_call(call, errno));
  };
  require(static_cast<bool>(file), "memfd_create");
  require(::fchmod(file.get(), 0600) == 0, "fchmod");
  require(uninterrupted([&] { return ::ftruncate(file.get(), static_cast<off_t>(bytes)); }) == 0,
          "ftruncate");
  if (seals != 0) require(::fcntl(file.get(), F_ADD_SEALS, seals) == 0, "fcntl(F_ADD_SEALS)");
  return file;
}

}  // namespace weft::base
