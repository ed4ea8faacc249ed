#include "network/shm/allocated_memory.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace weft::network::shm {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// A region of 0 bytes has a page as well, so that it has a place.
constexpr std::uint64_t file_bytes(std::uint64_t size) noexcept { return std::max(size, kPage); }

}  // namespace

RegionMapping::RegionMapping(int descriptor, std::uint64_t size) : bytes_(file_bytes(size)) {
  void* base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED)
    throw Error("shm: cannot map a region of " + std::to_string(size) + " bytes: " + std::strerror(errno));
  base_ = static_cast<std::byte*>(base);
}

RegionMapping::~RegionMapping() { ::munmap(base_, bytes_); }

AllocatedMemory::~AllocatedMemory() {
  for (const File& file : files_)
    if (file.descriptor >= 0) ::close(file.descriptor);
}

std::byte* AllocatedMemory::allocate(RegionName name, std::uint64_t size) {
  const int descriptor = ::memfd_create("weft-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Peers that map the file rely on its length.
  if (descriptor < 0 || ::fchmod(descriptor, 0600) != 0 ||
      ::ftruncate(descriptor, static_cast<off_t>(file_bytes(size))) != 0 ||
      ::fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
    const std::string reason = std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    throw Error("shm: cannot allocate a region of " + std::to_string(size) + " bytes: " + reason);
  }
  try {
    auto mapping = std::make_shared<const RegionMapping>(descriptor, size);
    const std::lock_guard lock(mutex_);
    files_[name.index] = {name.generation, descriptor, std::move(mapping)};
    return files_[name.index].mapping->base();
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

int AllocatedMemory::descriptor(RegionName name) const noexcept {
  const std::lock_guard lock(mutex_);
  return files_[name.index].descriptor;
}

std::shared_ptr<const RegionMapping> AllocatedMemory::mapping(RegionName name) const noexcept {
  const std::lock_guard lock(mutex_);
  if (name.index >= files_.size() || files_[name.index].generation != name.generation) return nullptr;
  return files_[name.index].mapping;
}

void AllocatedMemory::release(RegionName name, std::uint64_t size) noexcept {
  const std::lock_guard lock(mutex_);
  File& file = files_[name.index];
  if (file.descriptor < 0) return;
  ::fallocate(file.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(file_bytes(size)));
  ::close(file.descriptor);
  file = {};
}

bool is_region_file(int descriptor, std::uint64_t size) noexcept {
  struct stat information {};
  return (::fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK) != 0 && ::fstat(descriptor, &information) == 0 &&
         static_cast<std::uint64_t>(information.st_size) >= file_bytes(size);
}

}  // namespace weft::network::shm
