// CUDA's driver as the CPU imitates it (fake_cuda.cpp), for tests of CudaStream.
#pragma once

#include <weft/accelerator/cuda_stream.hpp>
#include <weft/error.hpp>

#include <dlfcn.h>

#include <cstddef>

namespace weft::test {

/// A stream of the fake driver, whose context is current in the thread that makes it; and what tests call of
/// the driver, by name.
class FakeDriver {
 public:
  FakeDriver() : library_(::dlopen(WEFT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw Error(::dlerror());
    call<int(void*)>("cuCtxSetCurrent")(context());
    call<int(void**, unsigned)>("cuStreamCreate")(&stream_, 0);
  }
  ~FakeDriver() { call<int(void*)>("cuStreamDestroy_v2")(stream_); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  template <class Signature>
  [[nodiscard]] Signature* call(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  [[nodiscard]] void* stream() const noexcept { return stream_; }
  [[nodiscard]] void* context() const { return call<void*()>("fake_cuda_context")(); }
  [[nodiscard]] void* current_context() const {
    void* current = nullptr;
    call<int(void**)>("cuCtxGetCurrent")(&current);
    return current;
  }
  void set_context(void* wanted) const { call<int(void*)>("cuCtxSetCurrent")(wanted); }
  /// The next call of the function answers this.
  void fail(const char* function, int result) const {
    call<void(const char*, int)>("fake_cuda_fail")(function, result);
  }
  void begin_capture() const { call<void(void*)>("fake_cuda_begin_capture")(stream_); }
  void end_capture() const { call<void(void*)>("fake_cuda_end_capture")(stream_); }
  void destroy_graph() const { call<void(void*)>("fake_cuda_destroy_graph")(stream_); }
  void replay() const { call<void(void*)>("fake_cuda_replay")(stream_); }
  [[nodiscard]] void* allocate(std::size_t size) const {
    unsigned long long address = 0;
    call<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, size);
    return reinterpret_cast<void*>(address);
  }
  void release(void* memory) const {
    call<int(unsigned long long)>("cuMemFree_v2")(reinterpret_cast<unsigned long long>(memory));
  }

 private:
  void* library_;
  void* stream_ = nullptr;
};

/// A CudaStream over it.
template <bool kMemoryOperations>
struct OfCuda {
  FakeDriver driver;
  CudaStream stream{driver.stream(),
                    {.driver = WEFT_FAKE_CUDA, .may_use_memory_operations = kMemoryOperations}};
  [[nodiscard]] void* allocate(std::size_t size) const { return driver.allocate(size); }
  void release(void* memory) const { driver.release(memory); }
};

}  // namespace weft::test
