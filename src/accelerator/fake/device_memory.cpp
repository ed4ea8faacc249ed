#include "accelerator/fake/device_memory.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace weft::accelerator {

namespace {

struct Block {
  std::size_t size;
  std::byte* view;
};
struct Blocks {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> by_address;
};
Blocks& all() {
  static Blocks& blocks = *new Blocks;  // for good: streams may end after main()
  return blocks;
}

}  // namespace

void* allocate_inaccessible(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (size + page - 1) / page * page + page;
  const int file = ::memfd_create("weft-fake-device", MFD_CLOEXEC);
  void* hidden = MAP_FAILED;
  void* view = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(mapped)) == 0) {
    hidden = ::mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, file, 0);
    view = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int why = errno;
  if (file >= 0) ::close(file);
  if (hidden == MAP_FAILED || view == MAP_FAILED) {
    if (hidden != MAP_FAILED) ::munmap(hidden, mapped);
    if (view != MAP_FAILED) ::munmap(view, mapped);
    throw Error("device memory of " + std::to_string(size) +
                " bytes cannot be imitated: " + std::strerror(why));
  }
  const std::lock_guard lock(all().mutex);
  all().by_address[reinterpret_cast<std::uintptr_t>(hidden)] = {mapped, static_cast<std::byte*>(view)};
  return hidden;
}

void free_inaccessible(void* memory) noexcept {
  const std::lock_guard lock(all().mutex);
  const auto found = all().by_address.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == all().by_address.end()) return;
  ::munmap(memory, found->second.size);
  ::munmap(found->second.view, found->second.size);
  all().by_address.erase(found);
}

void* view_of(const void* address) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(all().mutex);
  auto found = all().by_address.upper_bound(wanted);
  if (found == all().by_address.begin()) return nullptr;
  --found;
  const std::uintptr_t offset = wanted - found->first;
  return offset < found->second.size ? found->second.view + offset : nullptr;
}

}  // namespace weft::accelerator
