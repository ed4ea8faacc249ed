#include "core/memory/zeroed_memory.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <cerrno>
#include <string>
#include <system_error>

namespace weft::core {

ZeroedMemory::ZeroedMemory(std::size_t bytes, const char* purpose) : bytes_(bytes == 0 ? 1 : bytes) {
  data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data_ == MAP_FAILED)
    throw Error(ErrorClass::no_memory, "no address space of " + std::to_string(bytes_) + " bytes for " +
                                           purpose + ": " + std::generic_category().message(errno));
}

ZeroedMemory::~ZeroedMemory() { ::munmap(data_, bytes_); }

}  // namespace weft::core
