// A stream of an accelerator that a thread of the CPU imitates: for tests, and for programs without a GPU.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace weft {

/// Options of a FakeStream.
struct FakeStreamOptions {
  /// Of the delays before operations and copies.
  std::uint64_t seed = 1;
  /// The longest delay, in nanoseconds; 0: none.
  std::uint64_t longest_delay_ns = 0;
};

class FakeStream;

/// What a FakeStream has captured; may be launched any number of times, on any FakeStream. May be destroyed
/// while launches are under way.
class WEFT_API FakeGraph {
 public:
  FakeGraph() noexcept;
  ~FakeGraph();
  FakeGraph(FakeGraph&&) noexcept;
  FakeGraph& operator=(FakeGraph&&) noexcept;
  /// Enqueues everything that was captured. Never waits.
  void launch(FakeStream& stream) const;

 private:
  friend class FakeStream;
  struct Steps;
  std::shared_ptr<const Steps> steps_;
};

/// Carries out operations on words, functions ("kernels") and copies in the order in which they were
/// enqueued, in a thread of its own. Its device memory can be touched by kernels and copies only: other
/// accesses end the program, as they would with a GPU.
class WEFT_API FakeStream final : public AcceleratorStream {
 public:
  explicit FakeStream(const FakeStreamOptions& options = {});
  /// Waits until everything that was enqueued has been carried out; after abandon() for nothing.
  ~FakeStream() override;
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  /// Enqueues a call of `kernel`, which must not throw. Never waits.
  void launch(std::function<void()> kernel);
  /// Enqueues a copy; either side may be device memory.
  void copy(void* to, const void* from, std::size_t size);
  /// What is enqueued from now on is recorded instead of carried out. Throws weft::Error while capturing.
  void begin_capture();
  [[nodiscard]] FakeGraph end_capture();
  /// Ends every wait for a word, and drops what has not begun: a stream whose words will not be reached.
  void abandon() noexcept;

  /// Memory that only kernels and copies may touch, through view(). Throws weft::Error.
  [[nodiscard]] static void* allocate_device(std::size_t size);
  static void free_device(void* memory) noexcept;
  /// Where a kernel finds the device memory at `address`; other addresses are returned unchanged. Any thread.
  [[nodiscard]] static void* view(const void* address) noexcept;

  [[nodiscard]] const char* kind() const noexcept override { return "fake"; }
  void enqueue(std::span<const WordOperation> operations) override;
  [[nodiscard]] bool is_capturing() const override;
  [[nodiscard]] bool keep_with_graph(const std::shared_ptr<void>& token) override;
  void synchronize() override;
  [[nodiscard]] std::uint64_t* allocate_words(std::size_t count) override;
  void free_words(std::uint64_t* words) noexcept override;
  [[nodiscard]] bool is_device_memory(const void* address) const override;
  [[nodiscard]] std::byte* allocate_pinned(std::size_t size) override;
  void free_pinned(std::byte* memory) noexcept override;
  [[nodiscard]] std::unique_ptr<AcceleratorCopies> make_copies() override;

 private:
  friend class FakeGraph;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
