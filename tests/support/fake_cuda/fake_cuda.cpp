// The functions of CUDA's driver that weft uses, carried out by threads of the CPU, as a library of their
// own. Device memory cannot be touched by the host, as with a GPU. As with the driver, calls need a context,
// and while a graph is captured some calls fail in threads that have not relaxed their mode. fake_cuda_fail()
// makes a function fail once.
#include "accelerator/cuda/driver.hpp"
#include "accelerator/cuda/word_kernels.hpp"
#include "accelerator/fake/device_memory.hpp"
#include "accelerator/fake/work_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

using namespace weft::accelerator;

namespace weft::accelerator::cuda {
struct UserObjectHandle {
  void* pointer = nullptr;
  void (*destroy)(void*) = nullptr;
  ~UserObjectHandle() { destroy(pointer); }
};
struct GraphHandle {
  std::vector<std::function<void()>> captured;
  std::vector<std::unique_ptr<UserObjectHandle>> objects;
};
struct StreamHandle {
  WorkQueue queue{1, 0};
  bool is_capturing = false;
  std::shared_ptr<GraphHandle> graph = std::make_shared<GraphHandle>();

  /// Carries the work out in its turn, or captures it.
  void push(std::function<void()> work) {
    if (is_capturing)
      graph->captured.push_back(std::move(work));
    else
      queue.push(std::move(work));
  }
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
constexpr Result kInvalidContext = 201;
constexpr Result kCaptureUnsupported = 900;
cuda::ContextHandle context_of_device;
cuda::ModuleHandle the_module;
cuda::FunctionHandle write_function{true};
cuda::FunctionHandle wait_function{false};
thread_local cuda::Context current = nullptr;
thread_local int capture_mode = 0;
std::atomic<int> captures{0};
std::atomic<int> waits_under_way{0};

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
  if (current == nullptr) return kInvalidContext;
  const std::lock_guard lock(failure().mutex);
  if (failure().function != function) return 0;
  failure().function.clear();
  return failure().result;
}
/// The same, of functions that another thread's capture forbids.
Result fails_unless_relaxed(const char* function) {
  if (captures.load() != 0 && capture_mode != cuda::kRelaxedCapture) return kCaptureUnsupported;
  return fails(function);
}

void* seen(Address address) {
  void* const plain = reinterpret_cast<void*>(address);
  void* const view = view_of(plain);
  return view != nullptr ? view : plain;
}

void carry_out(bool writes, std::uint64_t* word, std::uint64_t value) {
  const std::atomic_ref<std::uint64_t> shared(*word);
  if (writes) return shared.store(value, std::memory_order_release);
  ++waits_under_way;
  while (static_cast<std::int64_t>(shared.load(std::memory_order_acquire) - value) < 0)
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  --waits_under_way;
}

}  // namespace

extern "C" {

void fake_cuda_fail(const char* function, int result) {
  const std::lock_guard lock(failure().mutex);
  failure().function = function;
  failure().result = result;
}
cuda::Context fake_cuda_context() { return &context_of_device; }
void fake_cuda_begin_capture(cuda::Stream stream) {
  stream->graph = std::make_shared<cuda::GraphHandle>();
  stream->is_capturing = true;
  ++captures;
}
void fake_cuda_end_capture(cuda::Stream stream) {
  stream->is_capturing = false;
  --captures;
}
/// Carries out what the stream has captured last.
void fake_cuda_replay(cuda::Stream stream) {
  for (const auto& work : stream->graph->captured) stream->queue.push(work);
  stream->queue.push([graph = stream->graph] {});
}
/// Destroys what the stream has captured last, once its launches have ended.
void fake_cuda_destroy_graph(cuda::Stream stream) { stream->graph = std::make_shared<cuda::GraphHandle>(); }

Result cuInit(unsigned) { return 0; }
Result cuGetErrorName(Result result, const char** name) {
  *name = result == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
Result cuGetErrorString(Result result, const char** text) {
  if (result != kInvalidValue) return kInvalidValue;
  *text = "invalid argument";
  return 0;
}
Result cuCtxGetCurrent(cuda::Context* context) {
  *context = current;
  return 0;
}
Result cuCtxSetCurrent(cuda::Context context) {
  current = context;
  return 0;
}
Result cuCtxGetDevice(cuda::Device* device) {
  *device = 0;
  return fails("cuCtxGetDevice");
}
Result cuDeviceGetAttribute(int* value, int attribute, cuda::Device) {
  *value = attribute == cuda::kHas64BitMemoryOperations ? 1 : 0;
  return 0;
}

Result cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}
Result cuStreamIsCapturing(cuda::Stream stream, int* status) {
  *status = stream->is_capturing ? 1 : 0;
  return fails("cuStreamIsCapturing");
}
Result cuStreamGetCaptureInfo_v2(cuda::Stream stream, int* status, std::uint64_t* id, cuda::Graph* graph,
                                 const void** dependencies, std::size_t* count) {
  if (const Result result = fails("cuStreamGetCaptureInfo")) return result;
  *status = stream->is_capturing ? 1 : 0;
  *id = 1;
  *graph = stream->is_capturing ? stream->graph.get() : nullptr;
  *dependencies = nullptr;
  *count = 0;
  return 0;
}
Result cuUserObjectCreate(cuda::UserObject* object, void* pointer, void (*destroy)(void*), unsigned count,
                          unsigned flags) {
  if (const Result result = fails("cuUserObjectCreate")) return result;
  if (count != 1 || flags != cuda::kNoDestructorSync) return kInvalidValue;
  *object = new cuda::UserObjectHandle{pointer, destroy};
  return 0;
}
Result cuUserObjectRelease(cuda::UserObject object, unsigned) {
  delete object;
  return 0;
}
Result cuGraphRetainUserObject(cuda::Graph graph, cuda::UserObject object, unsigned count, unsigned flags) {
  if (const Result result = fails("cuGraphRetainUserObject")) return result;
  if (count != 1 || flags != cuda::kMoveReference) return kInvalidValue;
  graph->objects.emplace_back(object);
  return 0;
}
Result cuStreamSynchronize(cuda::Stream stream) {
  if (stream->is_capturing) return kCaptureUnsupported;
  if (const Result result = fails_unless_relaxed("cuStreamSynchronize")) return result;
  stream->queue.wait_until_empty();
  return 0;
}
Result cuStreamCreate(cuda::Stream* stream, unsigned) {
  if (const Result result = fails_unless_relaxed("cuStreamCreate")) return result;
  *stream = new cuda::StreamHandle;
  return 0;
}
Result cuStreamDestroy_v2(cuda::Stream stream) {
  if (const Result result = fails("cuStreamDestroy")) return result;
  delete stream;
  return 0;
}
Result cuStreamBatchMemOp_v2(cuda::Stream stream, unsigned count, cuda::MemoryOperation* operations,
                             unsigned flags) {
  if (const Result result = fails("cuStreamBatchMemOp")) return result;
  if (stream->is_capturing) return kCaptureUnsupported;
  if (flags != 0 || count == 0) return kInvalidValue;
  for (unsigned index = 0; index < count; ++index) {
    const cuda::MemoryOperation operation = operations[index];
    if ((operation.operation != cuda::kWriteValue64 && operation.operation != cuda::kWaitValue64) ||
        operation.flags != 0)
      return kInvalidValue;
    stream->push([operation] {
      carry_out(operation.operation == cuda::kWriteValue64,
                reinterpret_cast<std::uint64_t*>(operation.address), operation.value);
    });
  }
  return 0;
}

Result cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  if (const Result result = fails_unless_relaxed("cuMemHostAlloc")) return result;
  *memory = size != 0 ? std::malloc(size) : nullptr;
  return *memory != nullptr ? 0 : kInvalidValue;
}
/// Waits, as the driver, until no stream waits any more.
Result cuMemFreeHost(void* memory) {
  if (const Result result = fails_unless_relaxed("cuMemFreeHost")) return result;
  while (waits_under_way.load() != 0) std::this_thread::yield();
  std::free(memory);
  return 0;
}
Result cuMemAlloc_v2(Address* address, std::size_t size) {
  *address = reinterpret_cast<Address>(allocate_inaccessible(size));
  return 0;
}
Result cuMemFree_v2(Address address) {
  free_inaccessible(reinterpret_cast<void*>(address));
  return 0;
}
Result cuPointerGetAttribute(void* value, int attribute, Address address) {
  if (const Result result = fails("cuPointerGetAttribute")) return result;
  if (view_of(reinterpret_cast<void*>(address)) == nullptr) return kInvalidValue;
  *static_cast<unsigned*>(value) = attribute == cuda::kMemoryType ? cuda::kDeviceMemory : 0;
  return 0;
}
Result cuMemcpyAsync(Address to, Address from, std::size_t size, cuda::Stream stream) {
  if (const Result result = fails("cuMemcpyAsync")) return result;
  stream->push([=] { std::memcpy(seen(to), seen(from), size); });
  return 0;
}

Result cuEventCreate(cuda::Event* event, unsigned) {
  if (const Result result = fails("cuEventCreate")) return result;
  *event = new cuda::EventHandle;
  return 0;
}
Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  if (const Result result = fails("cuEventRecord")) return result;
  event->stream = stream;
  event->number = stream->queue.push([] {});
  return 0;
}
Result cuEventQuery(cuda::Event event) {
  if (const Result result = fails_unless_relaxed("cuEventQuery")) return result;
  return event->stream->queue.has_ended(event->number) ? 0 : cuda::kNotReady;
}
Result cuEventDestroy_v2(cuda::Event event) {
  delete event;
  return 0;
}

Result cuModuleLoadData(cuda::Module* module, const void* text) {
  if (const Result result = fails_unless_relaxed("cuModuleLoadData")) return result;
  if (std::strstr(static_cast<const char*>(text), ".visible .entry") == nullptr) return kInvalidValue;
  *module = &the_module;
  return 0;
}
Result cuModuleUnload(cuda::Module) { return fails("cuModuleUnload"); }
Result cuModuleGetFunction(cuda::Function* function, cuda::Module, const char* name) {
  if (const Result result = fails("cuModuleGetFunction")) return result;
  if (std::strstr(cuda::kWordKernels, name) == nullptr) return 500;
  *function = std::strcmp(name, cuda::kWriteKernel) == 0 ? &write_function : &wait_function;
  return 0;
}
Result cuLaunchKernel(cuda::Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, cuda::Stream stream, void** arguments, void**) {
  if (const Result result = fails("cuLaunchKernel")) return result;
  const Address word = *static_cast<Address*>(arguments[0]);
  const std::uint64_t value = *static_cast<std::uint64_t*>(arguments[1]);
  stream->push([writes = function->writes, word, value] {
    carry_out(writes, reinterpret_cast<std::uint64_t*>(word), value);
  });
  return 0;
}

}  // extern "C"
