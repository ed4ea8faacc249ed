#include "accelerator/cuda/driver.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace weft::accelerator::cuda {

namespace {

/// Finds a function by one of two names, of which the first is that of newer drivers.
template <class Pointer>
bool find(void* library, Pointer& function, const char* name, const char* older = nullptr) {
  void* found = ::dlsym(library, name);
  const bool is_first = found != nullptr;
  if (found == nullptr && older != nullptr) found = ::dlsym(library, older);
  if (found == nullptr) throw Error(std::string("the CUDA driver has no function ") + name);
  function = reinterpret_cast<Pointer>(found);
  return is_first;
}

Driver load_from(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw Error("there is no CUDA driver: " + std::string(why != nullptr ? why : name));
  }
  Driver driver{};
  find(library, driver.init, "cuInit");
  find(library, driver.error_name, "cuGetErrorName");
  find(library, driver.current_context, "cuCtxGetCurrent");
  find(library, driver.set_context, "cuCtxSetCurrent");
  find(library, driver.context_device, "cuCtxGetDevice");
  find(library, driver.device_attribute, "cuDeviceGetAttribute");
  find(library, driver.is_capturing, "cuStreamIsCapturing");
  find(library, driver.synchronize, "cuStreamSynchronize");
  find(library, driver.create_stream, "cuStreamCreate");
  find(library, driver.destroy_stream, "cuStreamDestroy_v2", "cuStreamDestroy");
  driver.has_second_version =
      find(library, driver.memory_operations, "cuStreamBatchMemOp_v2", "cuStreamBatchMemOp");
  find(library, driver.allocate_host, "cuMemHostAlloc");
  find(library, driver.free_host, "cuMemFreeHost");
  find(library, driver.pointer_attribute, "cuPointerGetAttribute");
  find(library, driver.copy, "cuMemcpyAsync");
  find(library, driver.create_event, "cuEventCreate");
  find(library, driver.record_event, "cuEventRecord");
  find(library, driver.query_event, "cuEventQuery");
  find(library, driver.destroy_event, "cuEventDestroy_v2", "cuEventDestroy");
  find(library, driver.load_module, "cuModuleLoadData");
  find(library, driver.unload_module, "cuModuleUnload");
  find(library, driver.find_function, "cuModuleGetFunction");
  find(library, driver.launch, "cuLaunchKernel");
  driver.check(driver.init(0), "cuInit");
  return driver;
}

}  // namespace

const Driver& Driver::load(std::string_view library) {
  static std::mutex mutex;
  static Driver driver;
  static bool is_loaded = false;
  const std::lock_guard lock(mutex);
  if (!is_loaded) {
    driver = load_from(std::string(library));
    is_loaded = true;
  }
  return driver;
}

void Driver::check(Result result, const char* function) const {
  if (result == kSuccess) return;
  const char* name = nullptr;
  if (error_name(result, &name) != kSuccess || name == nullptr) name = "an unknown error";
  throw Error(std::string("CUDA: ") + function + " answers " + name + " (" + std::to_string(result) + ")");
}

}  // namespace weft::accelerator::cuda
