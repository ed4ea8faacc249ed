// The pool of arrays' memory: rows of free blocks by size, of each thread and of the process.
#include <weft/parcel/detail/array_memory.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace weft::parcel::detail {

namespace {

// Blocks hold powers of two of bytes, 512 to 4 MiB; longer ones come from the system each time.
constexpr unsigned kSmallestPower = 9;
constexpr unsigned kLargestPower = 22;
constexpr std::size_t kSizes = kLargestPower - kSmallestPower + 1;
// What a thread keeps of each size, and what all threads together may leave to each other.
constexpr std::size_t kBytesOfThread = std::size_t{256} << 10;
constexpr std::size_t kBlocksOfThread = 16;
constexpr std::size_t kBytesOfProcess = std::size_t{32} << 20;

/// Before the bytes of a block, which begin kArrayAlignment behind it.
struct PooledBlock final : ArrayBlock {
  std::size_t index;  // of its size; kSizes: not pooled
  PooledBlock* next;
};
static_assert(sizeof(PooledBlock) <= kArrayAlignment);

constexpr std::size_t bytes_of_size(std::size_t index) noexcept {
  return std::size_t{1} << (kSmallestPower + index);
}
constexpr std::size_t most_of_thread(std::size_t index) noexcept {
  return std::clamp(kBytesOfThread / bytes_of_size(index), std::size_t{1}, kBlocksOfThread);
}

/// Free blocks of one size.
struct Row {
  PooledBlock* first = nullptr;
  std::size_t count = 0;
  void push(PooledBlock& block) noexcept {
    block.next = first;
    first = &block;
    ++count;
  }
  [[nodiscard]] PooledBlock* pop() noexcept {
    PooledBlock* const block = first;
    if (block == nullptr) return nullptr;
    first = block->next;
    --count;
    return block;
  }
};

struct Common {
  std::mutex mutex;
  std::array<Row, kSizes> rows;
};
/// Never destroyed: arrays may outlive everything.
Common& common() {
  static auto* const all = new Common;
  return *all;
}

void give_to_system(PooledBlock& block) noexcept { std::free(&block); }

/// Leaves blocks of a row to other threads until it has `left`. Nobody waits for the mutex: what does not fit
/// goes back to the system.
void give_away(Row& row, std::size_t index, std::size_t left) noexcept {
  Common& all = common();
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  while (row.count > left) {
    PooledBlock& block = *row.pop();
    if (lock.owns_lock() && (all.rows[index].count + 1) * bytes_of_size(index) <= kBytesOfProcess)
      all.rows[index].push(block);
    else
      give_to_system(block);
  }
}

struct OfThread {
  std::array<Row, kSizes> rows;
  OfThread() { common(); }
  ~OfThread();
};
thread_local bool has_ended = false;  // this thread's rows: arrays of its other thread_locals come later
OfThread::~OfThread() {
  has_ended = true;
  for (std::size_t index = 0; index < kSizes; ++index) give_away(rows[index], index, 0);
}

/// Not inlined: a task that waits may go on in another thread, whose rows these then are not.
[[gnu::noinline]] OfThread* of_this_thread() noexcept {
  thread_local OfThread rows;
  return has_ended ? nullptr : &rows;
}

void release_block(ArrayBlock& given) noexcept {
  auto& block = static_cast<PooledBlock&>(given);
  OfThread* const mine = block.index < kSizes ? of_this_thread() : nullptr;
  if (mine == nullptr) return give_to_system(block);
  Row& row = mine->rows[block.index];
  row.push(block);
  if (const std::size_t most = most_of_thread(block.index); row.count > most)
    give_away(row, block.index, most / 2);
}

[[nodiscard]] PooledBlock* take_pooled(std::size_t index) noexcept {
  OfThread* const mine = of_this_thread();
  if (mine == nullptr) return nullptr;
  Row& row = mine->rows[index];
  if (row.first == nullptr) {
    Common& all = common();
    const std::unique_lock lock(all.mutex, std::try_to_lock);
    for (std::size_t left = std::max<std::size_t>(1, most_of_thread(index) / 2); lock.owns_lock() && left > 0;
         --left) {
      PooledBlock* const given = all.rows[index].pop();
      if (given == nullptr) break;
      row.push(*given);
    }
  }
  return row.pop();
}

}  // namespace

ArrayBlock* take_array_block(std::size_t size) {
  const unsigned power =
      std::max(kSmallestPower, static_cast<unsigned>(std::bit_width(size - (size != 0 ? 1 : 0))));
  const std::size_t index = power <= kLargestPower ? power - kSmallestPower : kSizes;
  if (index < kSizes)
    if (PooledBlock* const block = take_pooled(index); block != nullptr) return block;
  const std::size_t room = index < kSizes ? bytes_of_size(index) : size;
  if (room > SIZE_MAX - 3 * kArrayAlignment) throw std::bad_alloc();
  const std::size_t whole =
      (kArrayAlignment + room + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
  void* const memory = std::aligned_alloc(kArrayAlignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  auto* const block = new (memory) PooledBlock;
  block->data = static_cast<std::byte*>(memory) + kArrayAlignment;
  block->release = &release_block;
  block->index = index;
  block->next = nullptr;
  return block;
}

}  // namespace weft::parcel::detail
