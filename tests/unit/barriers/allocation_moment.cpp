#include "unit/barriers/allocation_moment.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace weft::test {
namespace {

thread_local std::function<void()>* next = nullptr;

void tell() {
  if (std::function<void()>* const hook = std::exchange(next, nullptr); hook != nullptr) (*hook)();
}

}  // namespace

AllocationMoment::AllocationMoment(std::function<void()> hook) : hook_(std::move(hook)) { next = &hook_; }
AllocationMoment::~AllocationMoment() { next = nullptr; }

/// For operator new, which is in no namespace.
void* allocate_for_test(std::size_t size) {
  tell();
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace weft::test

// In the place of the library's functions, in this program. All forms of one memory are of one kind: a
// sanitizer has its own of those that are not here.
void* operator new(std::size_t size) { return weft::test::allocate_for_test(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return weft::test::allocate_for_test(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
