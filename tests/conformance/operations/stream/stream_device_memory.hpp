// A rank with a stream of an accelerator, and memory of its device, as the CPU imitates them.
#pragma once

#include "conformance/operations/stream/stream_ranks.hpp"

#include <weft/stream/stream_queue.hpp>
#include <weft/testing/fake_stream.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::test {

/// Device memory for `count` elements.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count)
      : memory_(static_cast<T*>(FakeStream::allocate_device(count * sizeof(T)))) {}
  ~OnDevice() { FakeStream::free_device(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  [[nodiscard]] T* get() const noexcept { return memory_; }
  /// For kernels.
  [[nodiscard]] T* view() const noexcept { return static_cast<T*>(FakeStream::view(memory_)); }

 private:
  T* memory_;
};

/// A rank with one stream in the group, and a stream of its accelerator with seeded delays.
struct QueueRank {
  QueueRank(Runtime& runtime, int rank, std::uint64_t seed = 1, std::uint64_t longest_delay_ns = 20'000)
      : stream(runtime),
        group(runtime, stream),
        gpu({.seed = seed * 10 + static_cast<std::uint64_t>(rank), .longest_delay_ns = longest_delay_ns}),
        queue(group, 0, gpu) {}
  Stream stream;
  StreamGroup group;
  FakeStream gpu;
  StreamQueue queue;
};

}  // namespace weft::test
