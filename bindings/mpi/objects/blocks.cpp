#include "bindings/mpi/objects/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

namespace weft::mpi {

namespace {

constexpr std::size_t kLine = 64;
constexpr int kSmallestBits = 8;   // 256 bytes, with the line in front
constexpr int kClasses = 18;       // up to 32 MiB; more comes from the heap
constexpr int kThreadClasses = 9;  // up to 64 KiB are a thread's own
constexpr int kMostOfThread = 8;
constexpr std::size_t kMostShared = std::size_t{64} << 20;  // bytes that the process holds for later

/// In front of every block.
struct Head {
  Head* next;
  int of_class;  // kClasses: of the heap alone
};
static_assert(sizeof(Head) <= kLine);

constexpr std::size_t bytes_of_class(int index) noexcept { return std::size_t{1} << (index + kSmallestBits); }
int class_of(std::size_t bytes) noexcept {
  return std::max(0, static_cast<int>(std::bit_width(bytes - 1)) - kSmallestBits);
}

Head* from_heap(std::size_t bytes, int of_class) {
  return new (::operator new (bytes, std::align_val_t{kLine})) Head{nullptr, of_class};
}
void to_heap(Head* head) noexcept { ::operator delete (head, std::align_val_t{kLine}); }

struct List {
  Head* first = nullptr;
  int count = 0;

  Head* take() noexcept {
    Head* const head = first;
    first = head->next;
    --count;
    return head;
  }
  void give(Head* head) noexcept {
    head->next = first;
    first = head;
    ++count;
  }
};

struct OfThread {
  ~OfThread() {
    for (List& list : lists)
      while (list.first != nullptr) to_heap(list.take());
    is_gone = true;
  }
  List lists[kThreadClasses];
  bool is_gone = false;
};
thread_local OfThread own_blocks;

/// Large blocks, of all threads. Who finds it locked uses the heap.
struct Shared {
  std::mutex mutex;
  List lists[kClasses];
  std::size_t bytes = 0;
};
Shared& shared() noexcept {
  static Shared* const blocks = new Shared;  // blocks may be given back after main()
  return *blocks;
}

Head* take(int index) {
  if (index < kThreadClasses) {
    List& list = own_blocks.lists[index];
    if (list.first != nullptr && !own_blocks.is_gone) return list.take();
  } else if (const std::unique_lock lock(shared().mutex, std::try_to_lock); lock.owns_lock()) {
    List& list = shared().lists[index];
    if (list.first != nullptr) {
      shared().bytes -= bytes_of_class(index);
      return list.take();
    }
  }
  return from_heap(bytes_of_class(index), index);
}

/// Returns false when the block is not taken up.
bool give(Head* head) noexcept {
  const int index = head->of_class;
  if (index < kThreadClasses) {
    if (own_blocks.is_gone || own_blocks.lists[index].count >= kMostOfThread) return false;
    own_blocks.lists[index].give(head);
    return true;
  }
  if (index >= kClasses) return false;
  const std::unique_lock lock(shared().mutex, std::try_to_lock);
  if (!lock.owns_lock() || shared().bytes + bytes_of_class(index) > kMostShared) return false;
  shared().bytes += bytes_of_class(index);
  shared().lists[index].give(head);
  return true;
}

}  // namespace

std::byte* allocate_block(MPI_Count bytes) {
  if (bytes < 0 || bytes > PTRDIFF_MAX - MPI_Count{kLine}) throw std::bad_alloc();
  const std::size_t whole = static_cast<std::size_t>(bytes) + kLine;
  const int index = class_of(whole);
  Head* const head = index < kClasses ? take(index) : from_heap(whole, kClasses);
  return reinterpret_cast<std::byte*>(head) + kLine;
}

void free_block(std::byte* block) noexcept {
  if (block == nullptr) return;
  auto* const head = reinterpret_cast<Head*>(block - kLine);
  if (!give(head)) to_heap(head);
}

}  // namespace weft::mpi
