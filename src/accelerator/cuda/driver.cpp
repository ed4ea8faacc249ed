#include "accelerator/cuda/driver.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>

#include <map>
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

void find_graph_objects(void* library, Driver& driver) {
  const auto look = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  if (look(driver.capture_info, "cuStreamGetCaptureInfo_v2") &&
      look(driver.create_user_object, "cuUserObjectCreate") &&
      look(driver.release_user_object, "cuUserObjectRelease") &&
      look(driver.retain_user_object, "cuGraphRetainUserObject"))
    return;
  driver.capture_info = nullptr;
}

Driver load_from(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw Error("no CUDA driver: " + name + " cannot be loaded (" +
                (why != nullptr ? why : "no reason given") + ")");
  }
  Driver driver{};
  find(library, driver.init, "cuInit");
  find(library, driver.error_name, "cuGetErrorName");
  find(library, driver.error_text, "cuGetErrorString");
  find(library, driver.current_context, "cuCtxGetCurrent");
  find(library, driver.set_context, "cuCtxSetCurrent");
  find(library, driver.context_device, "cuCtxGetDevice");
  find(library, driver.device_attribute, "cuDeviceGetAttribute");
  find(library, driver.is_capturing, "cuStreamIsCapturing");
  driver.exchange_capture_mode = reinterpret_cast<decltype(driver.exchange_capture_mode)>(
      ::dlsym(library, "cuThreadExchangeStreamCaptureMode"));
  find_graph_objects(library, driver);
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
  struct Loaded {
    std::mutex mutex;
    std::map<std::string, Driver> by_name;
  };
  static Loaded& all = *new Loaded;  // for good: objects may end after main()
  const std::string name(library);
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found != all.by_name.end() ? found->second
                                    : all.by_name.emplace(name, load_from(name)).first->second;
}

void Driver::check(Result result, const char* function) const {
  if (result == kSuccess) return;
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != kSuccess || name == nullptr) name = "an unknown error";
  if (error_text(result, &text) != kSuccess || text == nullptr) text = "the driver says no more";
  throw Error(std::string("CUDA: ") + function + " answers " + name + " (" + std::to_string(result) +
              "): " + text);
}

}  // namespace weft::accelerator::cuda
