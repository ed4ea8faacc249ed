#include <weft/accelerator/cuda_stream.hpp>

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "accelerator/cuda/cuda_copies.hpp"
#include "accelerator/cuda/driver.hpp"
#include "accelerator/cuda/in_context.hpp"
#include "accelerator/cuda/pinned_pool.hpp"
#include "accelerator/cuda/word_kernels.hpp"

namespace weft {

namespace cuda = accelerator::cuda;
using cuda::InContext;

namespace {

cuda::Context context_of_thread(const cuda::Driver& driver) {
  cuda::Context context = nullptr;
  driver.check(driver.current_context(&context), "cuCtxGetCurrent");
  if (context == nullptr)
    throw Error(
        "a CudaStream needs a context in the calling thread: call cudaSetDevice() or cuCtxSetCurrent()");
  return context;
}

/// The kernels, loaded before they are needed: to load them the driver may wait for the device.
class LoadedKernels {
 public:
  LoadedKernels(const cuda::Driver& driver, cuda::Context context) : driver_(driver), context_(context) {
    const InContext in(driver_, context_);
    driver_.check(driver_.load_module(&module_, cuda::kWordKernels), "cuModuleLoadData");
    try {
      driver_.check(driver_.find_function(&write_, module_, cuda::kWriteKernel), "cuModuleGetFunction");
      driver_.check(driver_.find_function(&wait_, module_, cuda::kWaitKernel), "cuModuleGetFunction");
    } catch (const Error&) {
      static_cast<void>(driver_.unload_module(module_));
      throw;
    }
  }
  ~LoadedKernels() {
    const InContext in(driver_, context_, std::nothrow);
    static_cast<void>(driver_.unload_module(module_));
  }
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  void launch(cuda::Stream stream, const WordOperation& operation) const {
    cuda::Address address = cuda::address_of(operation.word);
    std::uint64_t value = operation.value;
    void* arguments[] = {&address, &value};
    const cuda::Function kernel = operation.kind == WordOperation::Kind::write ? write_ : wait_;
    driver_.check(driver_.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "cuLaunchKernel");
  }

 private:
  const cuda::Driver& driver_;
  const cuda::Context context_;
  cuda::Module module_ = nullptr;
  cuda::Function write_ = nullptr;
  cuda::Function wait_ = nullptr;
};

}  // namespace

struct CudaStream::State {
  State(void* given, const CudaStreamOptions& options)
      : driver(cuda::Driver::load(options.driver)),
        stream(static_cast<cuda::Stream>(given)),
        context(context_of_thread(driver)),
        kernels(driver, context),
        pinned(driver, context) {
    cuda::Device device = 0;
    driver.check(driver.context_device(&device), "cuCtxGetDevice");
    int has = 0;
    const int attribute =
        driver.has_second_version ? cuda::kHas64BitMemoryOperations : cuda::kHas64BitMemoryOperationsV1;
    // Older drivers do not know the attribute.
    has_memory_operations = options.may_use_memory_operations &&
                            driver.device_attribute(&has, attribute, device) == cuda::kSuccess && has != 0;
  }
  ~State() {
    const InContext in(driver, context, std::nothrow);
    int status = 0;
    // Not while capturing: that would break the graph.
    if (has_launched && driver.is_capturing(stream, &status) == cuda::kSuccess && status == 0)
      static_cast<void>(driver.synchronize(stream));
  }
  [[nodiscard]] bool is_capturing() const {
    int status = 0;
    driver.check(driver.is_capturing(stream, &status), "cuStreamIsCapturing");
    return status != 0;
  }
  // Pinned memory has one address for host and device: 64-bit processes have unified addressing.
  void enqueue_operations(std::span<const WordOperation> operations) const {
    constexpr std::size_t kMost = 16;
    std::array<cuda::MemoryOperation, kMost> batch;
    while (!operations.empty()) {
      const std::size_t count = std::min(kMost, operations.size());
      std::transform(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(count),
                     batch.begin(), [](const WordOperation& each) {
                       const bool writes = each.kind == WordOperation::Kind::write;
                       return cuda::MemoryOperation{writes ? cuda::kWriteValue64 : cuda::kWaitValue64,
                                                    cuda::address_of(each.word), each.value};
                     });
      driver.check(driver.memory_operations(stream, static_cast<unsigned>(count), batch.data(), 0),
                   "cuStreamBatchMemOp");
      operations = operations.subspan(count);
    }
  }

  const cuda::Driver& driver;
  const cuda::Stream stream;
  const cuda::Context context;
  const LoadedKernels kernels;
  cuda::PinnedPool pinned;
  bool has_memory_operations = false;
  bool has_launched = false;  // kernels, which must end before they are unloaded
};

CudaStream::CudaStream(void* stream, const CudaStreamOptions& options)
    : state_(std::make_unique<State>(stream, options)) {}
CudaStream::~CudaStream() = default;

bool CudaStream::uses_memory_operations() const noexcept { return state_->has_memory_operations; }

void CudaStream::enqueue(std::span<const WordOperation> operations) {
  if (operations.empty()) return;
  const InContext in(state_->driver, state_->context);
  // Operations on memory cannot be captured by all drivers; kernels can.
  if (state_->has_memory_operations && !state_->is_capturing()) return state_->enqueue_operations(operations);
  state_->has_launched = true;
  for (const WordOperation& each : operations) state_->kernels.launch(state_->stream, each);
}

bool CudaStream::is_capturing() const {
  const InContext in(state_->driver, state_->context);
  return state_->is_capturing();
}

bool CudaStream::keep_with_graph(const std::shared_ptr<void>& token) {
  const cuda::Driver& driver = state_->driver;
  if (driver.capture_info == nullptr) return false;
  const InContext in(driver, state_->context);
  int status = 0;
  std::uint64_t id = 0;
  cuda::Graph graph = nullptr;
  const void* dependencies = nullptr;
  std::size_t count = 0;
  if (driver.capture_info(state_->stream, &status, &id, &graph, &dependencies, &count) != cuda::kSuccess ||
      graph == nullptr)
    return false;
  // The driver calls this in a thread of its own, in which nothing of it may be called.
  auto* const kept = new std::shared_ptr<void>(token);
  const auto drop = [](void* given) { delete static_cast<std::shared_ptr<void>*>(given); };
  cuda::UserObject object = nullptr;
  if (driver.create_user_object(&object, kept, drop, 1, cuda::kNoDestructorSync) != cuda::kSuccess) {
    delete kept;
    return false;
  }
  if (driver.retain_user_object(graph, object, 1, cuda::kMoveReference) == cuda::kSuccess) return true;
  static_cast<void>(driver.release_user_object(object, 1));
  return false;
}

void CudaStream::synchronize() {
  const InContext in(state_->driver, state_->context);
  state_->driver.check(state_->driver.synchronize(state_->stream), "cuStreamSynchronize");
}

std::uint64_t* CudaStream::allocate_words(std::size_t count) {
  const std::size_t size = count * sizeof(std::uint64_t);
  auto* const words = static_cast<std::uint64_t*>(state_->pinned.allocate(size));
  std::memset(words, 0, size);
  return words;
}
void CudaStream::free_words(std::uint64_t* words) noexcept { state_->pinned.give_back(words); }

std::byte* CudaStream::allocate_pinned(std::size_t size) {
  return static_cast<std::byte*>(state_->pinned.allocate(size));
}
void CudaStream::free_pinned(std::byte* memory) noexcept { state_->pinned.give_back(memory); }

bool CudaStream::is_device_memory(const void* address) const {
  const InContext in(state_->driver, state_->context);
  const cuda::Address asked = cuda::address_of(address);
  unsigned type = 0;
  // The driver knows nothing of ordinary memory of the host.
  if (state_->driver.pointer_attribute(&type, cuda::kMemoryType, asked) != cuda::kSuccess) return false;
  unsigned is_managed = 0;
  static_cast<void>(state_->driver.pointer_attribute(&is_managed, cuda::kIsManaged, asked));
  return type == cuda::kDeviceMemory && is_managed == 0;
}

std::unique_ptr<AcceleratorCopies> CudaStream::make_copies() {
  return std::make_unique<cuda::CudaCopies>(state_->driver, state_->context);
}

}  // namespace weft
