#include "network/shm/segment/allocated_memory.hpp"

#include "base/memory/memory_file.hpp"
#include "base/memory/retired_ranges.hpp"
#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

namespace weft::network::shm {

namespace {

constexpr std::uint64_t kSmallestFile = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// The size of a region's file. A region of 0 bytes has a page as well, so that it has an address.
constexpr std::uint64_t file_bytes(std::uint64_t size) noexcept { return std::max(size, kSmallestFile); }

/// The number of mappings that the kernel lets this process have. If regions used all of them, malloc() would
/// get no memory any more.
std::int64_t read_most_mappings() {
  constexpr std::int64_t kUsual = 65530;
  std::int64_t most = 0;
  std::ifstream file("/proc/sys/vm/max_map_count");
  return file >> most ? most : kUsual;
}

std::atomic<std::int64_t> mappings{0};

}  // namespace

RegionMapping::RegionMapping(int descriptor, std::uint64_t size, Of of) : bytes_(file_bytes(size)) {
  static const std::int64_t all = read_most_mappings();
  const std::int64_t most = all / 4 * (of == Of::own ? 3 : 2);
  if (mappings.load(std::memory_order_relaxed) >= most)
    throw Error(ErrorClass::network, "shm: cannot map a region of " + std::to_string(size) +
                                         " bytes: this process has mapped " + std::to_string(most) +
                                         " regions already, of " + std::to_string(all) +
                                         " mappings that the kernel lets it have (sysctl vm.max_map_count)");
  void* base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED)
    throw Error(ErrorClass::network, "shm: cannot map a region of " + std::to_string(size) +
                                         " bytes: " + base::failed_call("mmap", errno));
  base_ = static_cast<std::byte*>(base);
  mappings.fetch_add(1, std::memory_order_relaxed);
  watch_.emplace(base, bytes_, of == Of::own ? descriptor : -1);
}

RegionMapping::~RegionMapping() {
  watch_.reset();
  if (keeps_addresses_.load(std::memory_order_relaxed))
    base::RetiredRanges::of_process().retire(base_, bytes_);
  else
    ::munmap(base_, bytes_);
  mappings.fetch_sub(1, std::memory_order_relaxed);
}

std::byte* AllocatedMemory::allocate(RegionName name, std::uint64_t size) {
  // Peers that map the file rely on its length.
  base::Descriptor file = base::make_memory_file("weft-region", file_bytes(size), kSeals,
                                                 "shm: a region of " + std::to_string(size) + " bytes");
  auto mapping = std::make_shared<const RegionMapping>(file.get(), size, RegionMapping::Of::own);
  const std::lock_guard lock(mutex_);
  files_[name.index] = {name.generation, std::move(file), std::move(mapping)};
  return files_[name.index].mapping->base();
}

int AllocatedMemory::descriptor(RegionName name) const noexcept {
  const std::lock_guard lock(mutex_);
  return files_[name.index].descriptor.get();
}

std::shared_ptr<const RegionMapping> AllocatedMemory::mapping(RegionName name) const noexcept {
  const std::lock_guard lock(mutex_);
  if (name.index >= files_.size() || files_[name.index].generation != name.generation) return nullptr;
  return files_[name.index].mapping;
}

void AllocatedMemory::release(RegionName name, std::uint64_t size) noexcept {
  const std::lock_guard lock(mutex_);
  File& file = files_[name.index];
  if (!file.descriptor) return;
  base::uninterrupted([&] {
    return ::fallocate(file.descriptor.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                       static_cast<off_t>(file_bytes(size)));
  });
  file.generation = 0;
  file.descriptor.close();
  file.mapping.reset();
}

bool is_region_file(int descriptor, std::uint64_t size) noexcept {
  struct stat information {};
  return (::fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK) != 0 && ::fstat(descriptor, &information) == 0 &&
         static_cast<std::uint64_t>(information.st_size) >= file_bytes(size);
}

}  // namespace weft::network::shm
