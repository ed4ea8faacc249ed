#include "bindings/mpi/collectives/frames.hpp"

#include <weft/binding/per_thread.hpp>

#include <bit>
#include <new>

namespace weft::mpi {

namespace {

constexpr std::size_t kSmallest = 6;  // 64 bytes
constexpr std::size_t kClasses = 8;   // up to 8 KiB; more comes from the heap
constexpr int kMostFree = 32;

struct Free {
  Free* next;
};
/// Frames may be freed by another thread than the one that has made them, which then keeps them.
struct Frames {
  ~Frames() {
    for (auto& list : lists)
      for (Free* frame = list.first; frame != nullptr;) {
        Free* const next = frame->next;
        ::operator delete(frame);
        frame = next;
      }
  }
  struct List {
    Free* first = nullptr;
    int count = 0;
  } lists[kClasses];
};

std::size_t class_of(std::size_t size) noexcept {
  const auto bits = static_cast<std::size_t>(std::bit_width(size - 1));
  return bits <= kSmallest ? 0 : bits - kSmallest;
}

}  // namespace

void* allocate_frame(std::size_t size) {
  const std::size_t index = class_of(size);
  if (index >= kClasses) return ::operator new(size);
  Frames* const frames = PerThread<Frames>::get();
  if (frames == nullptr || frames->lists[index].first == nullptr)
    return ::operator new (std::size_t{1} << (index + kSmallest));
  Frames::List& list = frames->lists[index];
  Free* const frame = list.first;
  list.first = frame->next;
  --list.count;
  return frame;
}

void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  Frames* const frames = index < kClasses ? PerThread<Frames>::get() : nullptr;
  if (frames == nullptr || frames->lists[index].count >= kMostFree) {
    ::operator delete(frame);
    return;
  }
  Frames::List& list = frames->lists[index];
  list.first = new (frame) Free{list.first};
  ++list.count;
}

}  // namespace weft::mpi
