// Streams of CUDA. Needs neither CUDA's headers nor its libraries to build: the driver is loaded when the
// first object is made.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>

#include <memory>
#include <string_view>

namespace weft {

/// Options of a CudaStream.
struct CudaStreamOptions {
  /// The file of CUDA's driver, which is loaded once and stays.
  std::string_view driver = "libcuda.so.1";
  /// false: words are written and waited for by kernels of one thread, as where the device lacks operations
  /// on memory in streams.
  bool may_use_memory_operations = true;
};

/// A stream of CUDA that belongs to the program and outlives the object. Triggers and waits are operations on
/// memory in the stream (cuStreamBatchMemOp), or kernels of one thread where the device lacks them and while
/// a graph is captured; no host functions. Device memory is what the driver says is neither of the host nor
/// managed.
class WEFT_API CudaStream final : public AcceleratorStream {
 public:
  /// `stream`: a CUstream or cudaStream_t; null: the default stream. The context of the calling thread is the
  /// stream's. Throws weft::Error when there is no driver, or no context.
  explicit CudaStream(void* stream, const CudaStreamOptions& options = {});
  /// Waits for the kernels that it has enqueued. Graphs that have captured some must not be launched any
  /// more.
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Whether the stream itself writes and waits for words; false: kernels do.
  [[nodiscard]] bool uses_memory_operations() const noexcept;

  [[nodiscard]] const char* kind() const noexcept override { return "cuda"; }
  void enqueue(std::span<const WordOperation> operations) override;
  [[nodiscard]] bool is_capturing() const override;
  [[nodiscard]] bool keep_with_graph(const std::shared_ptr<void>& token) override;
  void synchronize() override;
  [[nodiscard]] std::uint64_t* allocate_words(std::size_t count) override;
  void free_words(std::uint64_t* words) noexcept override;
  [[nodiscard]] bool is_device_memory(const void* address) const override;
  /// Pinned memory that was freed is kept for allocations of the same size until the object ends: the driver
  /// would wait for the whole device.
  [[nodiscard]] std::byte* allocate_pinned(std::size_t size) override;
  void free_pinned(std::byte* memory) noexcept override;
  [[nodiscard]] std::unique_ptr<AcceleratorCopies> make_copies() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
