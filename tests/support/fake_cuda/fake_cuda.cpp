// The functions of CUDA's driver that weft uses, carried out by threads of the CPU, as a library of their own.
// Device memory cannot be touched by the host, as with a GPU. fake_cuda_fail() makes a function fail once.
#include "accelerator/cuda/driver.hpp"
#include "accelerator/cuda/word_kernels.hpp"
#include "accelerator/fake/device_memory.hpp"
#include "accelerator/fake/work_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#pragma GCC visibility push(default)

using namespace weft::accelerator;

namespace weft::accelerator::cuda {
struct StreamHandle {
  WorkQueue queue{1, 0};
  bool is_capturing = false;
};
struct EventHandle {
  StreamHandle* stream = nullptr;
  std::uint64_t number = 0;
};
struct FunctionHandle {
  bool writes = false;
};
struct ContextHandle {};
struct ModuleHandle {};
}  // namespace weft::accelerator::cuda

namespace {

using cuda::Address;
using cuda::Result;

constexpr Result kInvalidValue = 1;
cuda::ContextHandle context_of_device;
cuda::ModuleHandle the_module;
cuda::FunctionHandle write_function{true};
cuda::FunctionHandle wait_function{false};
thread_local cuda::Context current = nullptr;

struct Failure {
  std::mutex mutex;
  std::string function;
  Result result = 0;
};
Failure& failure() {
  static Failure one;
  return one;
}
/// The result with which this call is to fail; 0: none.
Result fails(const char* function) {
  const std::lock_guard lock(failure().mutex);
  if (failure().function != function) return 0;
  failure().function.clear();
  return failure().result;
}

void* seen(Address address) {
  void* const plain = reinterpret_cast<void*>(address);
  void* const view = view_of(plain);
  return view != nullptr ? view : plain;
}

void carry_out(bool writes, std::uint64_t* word, std::uint64_t value) {
  const std::atomic_ref<std::uint64_t> shared(*word);
  if (writes) return shared.store(value, std::memory_order_release);
  while (static_cast<std::int64_t>(shared.load(std::memory_order_acquire) - value) < 0)
    std::this_thread::sleep_for(std::chrono::microseconds(5));
}

}  // namespace

extern "C" {

void fake_cuda_fail(const char* function, int result) {
  const std::lock_guard lock(failure().mutex);
  failure().function = function;
  failure().result = result;
}
void fake_cuda_capture(cuda::Stream stream, bool captures) { stream->is_capturing = captures; }
cuda::Result cuInit(unsigned) { return 0; }
cuda::Result cuGetErrorName(Result result, const char** name) {
  *name = result == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
cuda::Result cuCtxGetCurrent(cuda::Context* context) {
  *context = current;
  return 0;
}
cuda::Result cuCtxSetCurrent(cuda::Context context) {
  current = context;
  return 0;
}
cuda::Context fake_cuda_context() { return &context_of_device; }
cuda::Result cuCtxGetDevice(cuda::Device* device) {
  *device = 0;
  return 0;
}
cuda::Result cuDeviceGetAttribute(int* value, int attribute, cuda::Device) {
  *value = attribute == cuda::kHas64BitMemoryOperations ? 1 : 0;
  return 0;
}
cuda::Result cuStreamIsCapturing(cuda::Stream stream, int* status) {
  *status = stream->is_capturing ? 1 : 0;
  return 0;
}
cuda::Result cuStreamSynchronize(cuda::Stream stream) {
  if (const Result result = fails("cuStreamSynchronize")) return result;
  stream->queue.wait_until_empty();
  return 0;
}
cuda::Result cuStreamCreate(cuda::Stream* stream, unsigned) {
  *stream = new cuda::StreamHandle;
  return 0;
}
cuda::Result cuStreamDestroy_v2(cuda::Stream stream) {
  delete stream;
  return 0;
}
cuda::Result cuStreamBatchMemOp_v2(cuda::Stream stream, unsigned count, cuda::MemoryOperation* operations,
                                   unsigned flags) {
  if (const Result result = fails("cuStreamBatchMemOp")) return result;
  if (flags != 0 || current == nullptr) return kInvalidValue;
  for (unsigned index = 0; index < count; ++index) {
    const cuda::MemoryOperation operation = operations[index];
    if (operation.operation != cuda::kWriteValue64 && operation.operation != cuda::kWaitValue64)
      return kInvalidValue;
    stream->queue.push([operation] {
      carry_out(operation.operation == cuda::kWriteValue64,
                reinterpret_cast<std::uint64_t*>(operation.address), operation.value);
    });
  }
  return 0;
}
cuda::Result cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  *memory = std::malloc(size);
  return *memory != nullptr ? 0 : 2;
}
cuda::Result cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}
cuda::Result cuMemAlloc_v2(Address* address, std::size_t size) {
  *address = reinterpret_cast<Address>(allocate_inaccessible(size));
  return 0;
}
cuda::Result cuMemFree_v2(Address address) {
  free_inaccessible(reinterpret_cast<void*>(address));
  return 0;
}
cuda::Result cuPointerGetAttribute(void* value, int attribute, Address address) {
  if (view_of(reinterpret_cast<void*>(address)) == nullptr) return kInvalidValue;
  *static_cast<unsigned*>(value) = attribute == cuda::kMemoryType ? cuda::kDeviceMemory : 0;
  return 0;
}
cuda::Result cuMemcpyAsync(Address to, Address from, std::size_t size, cuda::Stream stream) {
  if (current == nullptr) return kInvalidValue;
  stream->queue.push([=] { std::memcpy(seen(to), seen(from), size); });
  return 0;
}
cuda::Result cuEventCreate(cuda::Event* event, unsigned) {
  *event = new cuda::EventHandle;
  return 0;
}
cuda::Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  event->stream = stream;
  event->number = stream->queue.push([] {});
  return 0;
}
cuda::Result cuEventQuery(cuda::Event event) {
  return event->stream->queue.has_ended(event->number) ? 0 : cuda::kNotReady;
}
cuda::Result cuEventDestroy_v2(cuda::Event event) {
  delete event;
  return 0;
}
cuda::Result cuModuleLoadData(cuda::Module* module, const void* text) {
  if (std::strstr(static_cast<const char*>(text), ".visible .entry") == nullptr) return kInvalidValue;
  *module = &the_module;
  return 0;
}
cuda::Result cuModuleUnload(cuda::Module) { return 0; }
cuda::Result cuModuleGetFunction(cuda::Function* function, cuda::Module, const char* name) {
  if (std::strstr(cuda::kWordKernels, name) == nullptr) return 500;
  *function = std::strcmp(name, cuda::kWriteKernel) == 0 ? &write_function : &wait_function;
  return 0;
}
cuda::Result cuLaunchKernel(cuda::Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, cuda::Stream stream, void** arguments, void**) {
  const Address word = *static_cast<Address*>(arguments[0]);
  const std::uint64_t value = *static_cast<std::uint64_t*>(arguments[1]);
  stream->queue.push([writes = function->writes, word, value] {
    carry_out(writes, reinterpret_cast<std::uint64_t*>(word), value);
  });
  return 0;
}

}  // extern "C"
