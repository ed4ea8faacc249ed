// The default supplier of buffers for large active messages.
#include <weft/completion/completion.hpp>

#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

namespace weft::detail {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestKept = std::size_t{32} << 10;
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;  // of buffers that nobody uses
constexpr std::size_t kKeptBuffers = 64;

/// The heap, with some buffers kept back: malloc returns large blocks to the kernel at once, and the page
/// faults of a fresh one cost more than the transfer into it (1 MiB messages: 5 GB/s fresh, 20 GB/s reused).
class HeapPayloads final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    const std::size_t room = room_for(size);
    if (room <= kKeptBytes && room >= kSmallestKept) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      for (std::size_t index = lock.owns_lock() ? count_ : 0; index-- > 0;) {
        if (kept_[index].room != room) continue;
        std::byte* data = kept_[index].data;
        kept_[index] = kept_[--count_];
        bytes_ -= room;
        return data;
      }
    }
    return static_cast<std::byte*>(::operator new (room, std::align_val_t{kAlignment}, std::nothrow));
  }

  void release(std::byte* data, std::size_t size, std::uint64_t) noexcept override {
    const std::size_t room = room_for(size);
    if (room <= kKeptBytes && room >= kSmallestKept) {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock.owns_lock() && count_ < kKeptBuffers && bytes_ + room <= kKeptBytes) {
        kept_[count_++] = {data, room};
        bytes_ += room;
        return;
      }
    }
    ::operator delete (data, std::align_val_t{kAlignment});
  }

  ~HeapPayloads() {
    for (std::size_t index = 0; index < count_; ++index)
      ::operator delete (kept_[index].data, std::align_val_t{kAlignment});
  }

 private:
  struct Kept {
    std::byte* data;
    std::size_t room;
  };

  /// Eight sizes between powers of two, so that messages of about the same size use the same buffers.
  static std::size_t room_for(std::size_t size) noexcept {
    if (size < kSmallestKept) return size;
    const std::size_t step = std::bit_floor(size) / 8;
    return (size + step - 1) / step * step;
  }

  std::mutex mutex_;  // only tried
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  Kept kept_[kKeptBuffers] = {};
};

}  // namespace

PayloadOwner& heap_payloads() noexcept {
  static HeapPayloads payloads;
  return payloads;
}

}  // namespace weft::detail
