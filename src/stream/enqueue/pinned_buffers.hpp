// Host memory in which messages of device memory are staged.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weft::stream {

/// Pinned buffers, kept for further messages up to a limit, and the copies to and from them. One thread.
class PinnedBuffers {
 public:
  PinnedBuffers(AcceleratorStream& accelerator, std::size_t limit)
      : accelerator_(accelerator), limit_(limit) {}
  ~PinnedBuffers() {
    for (const Buffer& buffer : free_) accelerator_.free_pinned(buffer.memory);
  }
  PinnedBuffers(const PinnedBuffers&) = delete;
  PinnedBuffers& operator=(const PinnedBuffers&) = delete;

  struct Buffer {
    std::byte* memory = nullptr;
    std::size_t size = 0;
  };
  /// Makes what copies need, before the accelerator's stream waits for them: drivers may wait for the whole
  /// device when they allocate. By the thread that enqueues, before the other thread's first use.
  void prepare() {
    if (copies_ != nullptr) return;
    copies_ = accelerator_.make_copies();
    const std::size_t size = std::bit_ceil(std::max(limit_, kSmallest));
    free_.push_back({accelerator_.allocate_pinned(size), size});
    kept_ += size;
  }
  [[nodiscard]] Buffer take(std::size_t size) {
    const std::size_t wanted = std::bit_ceil(std::max(size, kSmallest));
    const auto found =
        std::find_if(free_.begin(), free_.end(), [&](const Buffer& each) { return each.size >= wanted; });
    if (found == free_.end()) return {accelerator_.allocate_pinned(wanted), wanted};
    const Buffer buffer = *found;
    kept_ -= buffer.size;
    free_.erase(found);
    return buffer;
  }
  void give_back(const Buffer& buffer) noexcept {
    if (buffer.memory == nullptr) return;
    if (kept_ + buffer.size > 2 * std::bit_ceil(limit_)) return accelerator_.free_pinned(buffer.memory);
    kept_ += buffer.size;
    free_.push_back(buffer);
  }
  /// Copies in chunks, so that the device may begin with the first while further ones are enqueued. Calls
  /// meanwhile() until all have ended.
  template <class Meanwhile>
  void copy(void* to, const void* from, std::size_t size, const Meanwhile& meanwhile) {
    if (size == 0) return;
    std::uint64_t last = 0;
    for (std::size_t at = 0; at < size; at += kChunk)
      last = copies_->begin(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                            std::min(kChunk, size - at));
    while (!copies_->has_ended(last)) meanwhile();
  }

 private:
  static constexpr std::size_t kSmallest = 4096;
  static constexpr std::size_t kChunk = std::size_t{512} << 10;

  AcceleratorStream& accelerator_;
  const std::size_t limit_;
  std::unique_ptr<AcceleratorCopies> copies_;
  std::vector<Buffer> free_;
  std::size_t kept_ = 0;
};

}  // namespace weft::stream
