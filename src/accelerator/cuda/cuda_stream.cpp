#include <weft/accelerator/cuda_stream.hpp>

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "accelerator/cuda/driver.hpp"
#include "accelerator/cuda/word_kernels.hpp"

namespace weft {

namespace cuda = accelerator::cuda;

namespace {

[[nodiscard]] cuda::Address address_of(const void* pointer) noexcept {
  return reinterpret_cast<cuda::Address>(pointer);
}

/// Makes the context current in the calling thread, which may be one of weft's, and restores the former one.
class InContext {
 public:
  InContext(const cuda::Driver& driver, cuda::Context context) : driver_(driver) {
    driver_.check(driver_.current_context(&before_), "cuCtxGetCurrent");
    if (before_ == context) return;
    driver_.check(driver_.set_context(context), "cuCtxSetCurrent");
    has_changed_ = true;
  }
  ~InContext() {
    if (has_changed_) static_cast<void>(driver_.set_context(before_));
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const cuda::Driver& driver_;
  cuda::Context before_ = nullptr;
  bool has_changed_ = false;
};

/// A stream of its own, which does not wait for the default stream, with an event after each copy.
class CudaCopies final : public AcceleratorCopies {
 public:
  CudaCopies(const cuda::Driver& driver, cuda::Context context) : driver_(driver), context_(context) {
    const InContext in(driver_, context_);
    driver_.check(driver_.create_stream(&stream_, cuda::kNonBlocking), "cuStreamCreate");
  }
  ~CudaCopies() override {
    static_cast<void>(driver_.set_context(context_));
    static_cast<void>(driver_.synchronize(stream_));
    for (const cuda::Event event : under_way_) static_cast<void>(driver_.destroy_event(event));
    for (const cuda::Event event : free_) static_cast<void>(driver_.destroy_event(event));
    static_cast<void>(driver_.destroy_stream(stream_));
  }
  std::uint64_t begin(void* to, const void* from, std::size_t size) override {
    const InContext in(driver_, context_);
    driver_.check(driver_.copy(address_of(to), address_of(from), size, stream_), "cuMemcpyAsync");
    cuda::Event event = nullptr;
    if (free_.empty()) {
      driver_.check(driver_.create_event(&event, cuda::kWithoutTiming), "cuEventCreate");
    } else {
      event = free_.back();
      free_.pop_back();
    }
    driver_.check(driver_.record_event(event, stream_), "cuEventRecord");
    under_way_.push_back(event);
    return ended_ + under_way_.size();
  }
  [[nodiscard]] bool has_ended(std::uint64_t number) override {
    const InContext in(driver_, context_);
    for (; ended_ < number && !under_way_.empty(); ++ended_) {
      const cuda::Result result = driver_.query_event(under_way_.front());
      if (result == cuda::kNotReady) return false;
      driver_.check(result, "cuEventQuery");
      free_.push_back(under_way_.front());
      under_way_.pop_front();
    }
    return ended_ >= number;
  }

 private:
  const cuda::Driver& driver_;
  const cuda::Context context_;
  cuda::Stream stream_ = nullptr;
  std::deque<cuda::Event> under_way_;
  std::vector<cuda::Event> free_;
  std::uint64_t ended_ = 0;
};

}  // namespace

struct CudaStream::State {
  State(void* given, const CudaStreamOptions& options)
      : driver(cuda::Driver::load(options.library)), stream(static_cast<cuda::Stream>(given)) {
    driver.check(driver.current_context(&context), "cuCtxGetCurrent");
    if (context == nullptr)
      throw Error("a CudaStream needs a context in the calling thread: call cudaSetDevice() or cuCtxSetCurrent()");
    cuda::Device device = 0;
    driver.check(driver.context_device(&device), "cuCtxGetDevice");
    int has = 0;
    const int attribute =
        driver.has_second_version ? cuda::kHas64BitMemoryOperations : cuda::kHas64BitMemoryOperationsV1;
    // Older drivers do not know the attribute.
    has_memory_operations = options.may_use_memory_operations &&
                            driver.device_attribute(&has, attribute, device) == cuda::kSuccess && has != 0;
    driver.check(driver.load_module(&module, cuda::kWordKernels), "cuModuleLoadData");
    driver.check(driver.find_function(&write, module, cuda::kWriteKernel), "cuModuleGetFunction");
    driver.check(driver.find_function(&wait, module, cuda::kWaitKernel), "cuModuleGetFunction");
  }
  ~State() {
    static_cast<void>(driver.set_context(context));
    if (module != nullptr) static_cast<void>(driver.unload_module(module));
  }
  // Pinned memory has one address for host and device: 64-bit processes have unified addressing.
  void enqueue_operations(std::span<const WordOperation> operations) const {
    constexpr std::size_t kMost = 16;
    std::array<cuda::MemoryOperation, kMost> batch;
    for (; !operations.empty(); operations = operations.subspan(std::min(kMost, operations.size()))) {
      unsigned count = 0;
      for (const WordOperation& each : operations.first(std::min(kMost, operations.size())))
        batch[count++] = {each.kind == WordOperation::Kind::write ? cuda::kWriteValue64 : cuda::kWaitValue64,
                          address_of(each.word), each.value};
      driver.check(driver.memory_operations(stream, count, batch.data(), 0), "cuStreamBatchMemOp");
    }
  }
  void enqueue_kernels(std::span<const WordOperation> operations) const {
    for (const WordOperation& each : operations) {
      cuda::Address address = address_of(each.word);
      std::uint64_t value = each.value;
      void* arguments[] = {&address, &value};
      driver.check(driver.launch(each.kind == WordOperation::Kind::write ? write : wait, 1, 1, 1, 1, 1, 1, 0,
                                 stream, arguments, nullptr),
                   "cuLaunchKernel");
    }
  }

  const cuda::Driver& driver;
  const cuda::Stream stream;
  cuda::Context context = nullptr;
  bool has_memory_operations = false;
  cuda::Module module = nullptr;
  cuda::Function write = nullptr;
  cuda::Function wait = nullptr;
};

CudaStream::CudaStream(void* stream, const CudaStreamOptions& options)
    : state_(std::make_unique<State>(stream, options)) {}
CudaStream::~CudaStream() = default;

bool CudaStream::uses_memory_operations() const noexcept { return state_->has_memory_operations; }

void CudaStream::enqueue(std::span<const WordOperation> operations) {
  if (operations.empty()) return;
  const InContext in(state_->driver, state_->context);
  // Operations on memory cannot be captured by all drivers; kernels can.
  if (state_->has_memory_operations && !is_capturing())
    state_->enqueue_operations(operations);
  else
    state_->enqueue_kernels(operations);
}

bool CudaStream::is_capturing() const {
  const InContext in(state_->driver, state_->context);
  int status = 0;
  state_->driver.check(state_->driver.is_capturing(state_->stream, &status), "cuStreamIsCapturing");
  return status != 0;
}

void CudaStream::synchronize() {
  const InContext in(state_->driver, state_->context);
  state_->driver.check(state_->driver.synchronize(state_->stream), "cuStreamSynchronize");
}

std::uint64_t* CudaStream::allocate_words(std::size_t count) {
  const std::size_t size = count * sizeof(std::uint64_t);
  auto* const words = reinterpret_cast<std::uint64_t*>(allocate_pinned(size));
  std::memset(words, 0, size);
  return words;
}
void CudaStream::free_words(std::uint64_t* words) noexcept {
  free_pinned(reinterpret_cast<std::byte*>(words));
}

std::byte* CudaStream::allocate_pinned(std::size_t size) {
  const InContext in(state_->driver, state_->context);
  void* memory = nullptr;
  state_->driver.check(state_->driver.allocate_host(&memory, size, cuda::kPortable | cuda::kDeviceMapped),
                       "cuMemHostAlloc");
  return static_cast<std::byte*>(memory);
}
void CudaStream::free_pinned(std::byte* memory) noexcept {
  static_cast<void>(state_->driver.set_context(state_->context));
  static_cast<void>(state_->driver.free_host(memory));
}

bool CudaStream::is_device_memory(const void* address) const {
  const InContext in(state_->driver, state_->context);
  unsigned type = 0;
  // The driver knows nothing of ordinary memory of the host.
  if (state_->driver.pointer_attribute(&type, cuda::kMemoryType, address_of(address)) != cuda::kSuccess)
    return false;
  unsigned is_managed = 0;
  static_cast<void>(
      state_->driver.pointer_attribute(&is_managed, cuda::kIsManaged, address_of(address)));
  return type == cuda::kDeviceMemory && is_managed == 0;
}

std::unique_ptr<AcceleratorCopies> CudaStream::make_copies() {
  return std::make_unique<CudaCopies>(state_->driver, state_->context);
}

}  // namespace weft
