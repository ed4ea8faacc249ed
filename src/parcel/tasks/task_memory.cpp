// Memory for tasks and futures. Many of them live for less than a microsecond, are made by one thread and
// freed by another, and come in bursts: each thread keeps those that it frees for the next ones, and hands
// them to the others in batches when it has many.
#include <weft/parcel/task.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "parcel/tasks/sanitizer.hpp"

namespace weft::parcel::detail {

namespace {

constexpr std::size_t kGranule = 64;
constexpr std::size_t kSizes = 8;  // what is larger comes from the heap
constexpr std::uint32_t kBatch = 64;
constexpr std::uint32_t kMostKept = 4 * kBatch;

struct Block {
  Block* next;
  Block* next_batch;  // of the first block of a batch
};

struct List {
  Block* first = nullptr;
  std::uint32_t count = 0;
};

/// What no thread keeps: batches of kBatch blocks. Memory that was once taken stays: as much as there were
/// tasks at a time.
class Batches {
 public:
  [[nodiscard]] Block* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      Block*& first = batches_[size];
      if (first != nullptr) return std::exchange(first, first->next_batch);
    }
    const std::size_t bytes = (size + 1) * kGranule;
    auto* const memory = static_cast<std::byte*>(::operator new(bytes* kBatch, std::align_val_t(kGranule)));
    Block* first = nullptr;
    for (std::size_t number = kBatch; number-- != 0;)
      first = new (memory + number * bytes) Block{first, nullptr};
    return first;
  }
  void give(std::size_t size, Block* batch) noexcept {
    const std::lock_guard lock(mutex_);
    batch->next_batch = std::exchange(batches_[size], batch);
  }
  /// Blocks of threads that have ended, one by one.
  void give_rest(std::size_t size, Block* block) noexcept {
    const std::lock_guard lock(mutex_);
    List& rest = rest_[size];
    block->next = std::exchange(rest.first, block);
    if (++rest.count != kBatch) return;
    block->next_batch = std::exchange(batches_[size], block);
    rest = {};
  }

 private:
  std::mutex mutex_;
  std::array<Block*, kSizes> batches_{};
  std::array<List, kSizes> rest_{};
};

Batches& batches() {
  static auto& all = *new Batches;  // threads may end after the statics
  return all;
}

struct Kept {
  std::array<List, kSizes> lists{};
  bool is_over = false;  // the thread ends
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Kept kept;

struct GivesBack {
  bool is_there = false;
  ~GivesBack() {
    kept.is_over = true;
    for (std::size_t size = 0; size < kSizes; ++size)
      for (Block* block = std::exchange(kept.lists[size].first, nullptr); block != nullptr;)
        batches().give_rest(size, std::exchange(block, block->next));
  }
};
thread_local GivesBack gives_back;

[[gnu::noinline]] void* take_batch(std::size_t size) {
  gives_back.is_there = true;  // from now on
  Block* const first = batches().take(size);
  kept.lists[size] = {first->next, kBatch - 1};
  return first;
}

[[gnu::noinline]] void give_batch(std::size_t size) noexcept {
  gives_back.is_there = true;
  List& list = kept.lists[size];
  Block* const batch = list.first;
  Block* last = batch;
  for (std::uint32_t number = 1; number < kBatch; ++number) last = last->next;
  list = {std::exchange(last->next, nullptr), list.count - kBatch};
  batches().give(size, batch);
}

#if defined(WEFT_STACKS_UNDER_ASAN) || defined(WEFT_STACKS_UNDER_TSAN)
constexpr bool kFromHeap = true;  // they see what is used after its end
#else
constexpr bool kFromHeap = false;
#endif

}  // namespace

// A task may go on in another thread after a call that waits; these do not wait, and no caller inlines them.

[[gnu::noinline]] void* take_task_memory(std::size_t bytes) {
  const std::size_t size = (bytes - 1) / kGranule;
  if (kFromHeap || size >= kSizes) return ::operator new(bytes);
  List& list = kept.lists[size];
  Block* const block = list.first;
  if (block == nullptr) [[unlikely]]
    return take_batch(size);
  list.first = block->next;
  --list.count;
  return block;
}

[[gnu::noinline]] void give_task_memory(void* memory, std::size_t bytes) noexcept {
  const std::size_t size = (bytes - 1) / kGranule;
  if (kFromHeap || size >= kSizes) return ::operator delete(memory);
  List& list = kept.lists[size];
  auto* const block = new (memory) Block{list.first, nullptr};
  if (kept.is_over) [[unlikely]]
    return batches().give_rest(size, block);
  list.first = block;
  if (++list.count == kMostKept) [[unlikely]]
    give_batch(size);
}

}  // namespace weft::parcel::detail
