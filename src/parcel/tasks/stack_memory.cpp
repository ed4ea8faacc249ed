#include "parcel/tasks/stack_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include <weft/error.hpp>

#include "parcel/tasks/sanitizer.hpp"

namespace weft::parcel {

namespace {

// Linux 6.13; older headers lack it.
constexpr int kGuardInstall = 102;
constexpr std::size_t kMostGuardMappings = 8192;
constexpr std::size_t kLeastOfSlab = std::size_t{64} << 20;

std::atomic<std::size_t> guard_mappings{0};

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

void guard(std::byte* page) noexcept {
  if (!kLooksForLeaks && ::madvise(page, page_size(), kGuardInstall) == 0) return;
  if (guard_mappings.load(std::memory_order_relaxed) >= kMostGuardMappings) return;
  if (::mprotect(page, page_size(), PROT_NONE) == 0) guard_mappings.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

StackMemory::StackMemory(std::size_t size) noexcept
    : size_((size + page_size() - 1) / page_size() * page_size()) {}

std::size_t StackMemory::usable_size() const noexcept { return size_ - page_size(); }

StackMemory::~StackMemory() {
  for (const Slab& slab : slabs_) {
    forget_stacks(slab.memory, slab.bytes);
    ::munmap(slab.memory, slab.bytes);
  }
}

std::byte* StackMemory::make() {
  const std::lock_guard lock(mutex_);
  if (left_ == 0) {
    const std::size_t bytes = std::max(size_, kLeastOfSlab / size_ * size_);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
      throw Error("no memory for another task that waits (" + std::to_string(made_) + " have stacks of " +
                  std::to_string(size_) + " bytes): " + std::strerror(errno) +
                  "; the parcel option stack makes them smaller");
    // A stack touches a page or two: a huge page each would be 2 MiB.
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    note_stacks(memory, bytes);
    slabs_.push_back({static_cast<std::byte*>(memory), bytes});
    next_ = slabs_.back().memory;
    left_ = bytes / size_;
  }
  std::byte* const stack = next_;
  next_ += size_;
  --left_;
  ++made_;
  guard(stack);
  return stack + page_size();
}

}  // namespace weft::parcel
