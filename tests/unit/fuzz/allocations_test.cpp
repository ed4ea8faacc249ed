#include "unit/fuzz/allocations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace weft::fuzz {
namespace {

std::atomic<bool> g_is_watched{false};
std::atomic<std::size_t> g_largest{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (g_is_watched.load(std::memory_order_relaxed)) {
    std::size_t before = g_largest.load(std::memory_order_relaxed);
    while (before < bytes && !g_largest.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
    }
  }
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes != 0 ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

// Apart, or compilers see memory of operator new go to free().
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

}  // namespace

LargestAllocation::LargestAllocation() noexcept {
  g_largest.store(0, std::memory_order_relaxed);
  g_is_watched.store(true, std::memory_order_relaxed);
}
LargestAllocation::~LargestAllocation() { g_is_watched.store(false, std::memory_order_relaxed); }
std::size_t LargestAllocation::bytes() const noexcept { return g_largest.load(std::memory_order_relaxed); }

TEST(LargestAllocation, is_what_was_asked_for_while_it_lived) {
  std::vector<char> before(100'000);
  const LargestAllocation largest;
  EXPECT_EQ(largest.bytes(), 0U);
  std::vector<char> small(100);
  std::vector<char> large(5'000);
  small.resize(50);
  EXPECT_EQ(largest.bytes(), 5'000U);
}

}  // namespace weft::fuzz

// Replaced for the whole program, and all of them: a sanitizer has functions of its own for those that are
// left out.
void* operator new(std::size_t bytes) {
  void* const memory = weft::fuzz::allocate(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = weft::fuzz::allocate(bytes, static_cast<std::size_t>(alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return weft::fuzz::allocate(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return weft::fuzz::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return weft::fuzz::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return weft::fuzz::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { weft::fuzz::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { weft::fuzz::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { weft::fuzz::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { weft::fuzz::release(memory); }
void operator delete[](void* memory) noexcept { weft::fuzz::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { weft::fuzz::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { weft::fuzz::release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { weft::fuzz::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { weft::fuzz::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { weft::fuzz::release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  weft::fuzz::release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  weft::fuzz::release(memory);
}
