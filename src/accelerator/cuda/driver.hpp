// The functions of CUDA's driver that weft uses, found in its library at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::accelerator::cuda {

// Types and numbers of cuda.h (CUDA Driver API reference manual, 12.4).
using Result = int;
using Address = unsigned long long;
using Device = int;
struct ContextHandle;
struct StreamHandle;
struct EventHandle;
struct ModuleHandle;
struct FunctionHandle;
struct GraphHandle;
struct UserObjectHandle;
using Context = ContextHandle*;
using Stream = StreamHandle*;
using Event = EventHandle*;
using Module = ModuleHandle*;
using Function = FunctionHandle*;
using Graph = GraphHandle*;
using UserObject = UserObjectHandle*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kNotReady = 600;
inline constexpr int kHas64BitMemoryOperationsV1 =
    93;  // device attributes, for functions without and with _v2
inline constexpr int kHas64BitMemoryOperations = 122;
inline constexpr int kMemoryType = 2;  // pointer attributes
inline constexpr int kIsManaged = 8;
inline constexpr unsigned kDeviceMemory = 2;
inline constexpr unsigned kPortable = 1;  // flags of cuMemHostAlloc
inline constexpr unsigned kDeviceMapped = 2;
inline constexpr unsigned kNonBlocking = 1;    // of cuStreamCreate
inline constexpr unsigned kWithoutTiming = 2;  // of cuEventCreate
inline constexpr int kWaitValue64 = 4;         // CUstreamBatchMemOpType
inline constexpr int kWriteValue64 = 5;
inline constexpr int kRelaxedCapture = 2;         // CUstreamCaptureMode
inline constexpr unsigned kNoDestructorSync = 1;  // of cuUserObjectCreate
inline constexpr unsigned kMoveReference = 1;     // of cuGraphRetainUserObject

[[nodiscard]] inline Address address_of(const void* pointer) noexcept {
  return reinterpret_cast<Address>(pointer);
}

/// CUstreamBatchMemOpParams, whose members for waits and writes are the same: wait until word >= value,
/// signed.
struct MemoryOperation {
  int operation = 0;
  Address address = 0;
  std::uint64_t value = 0;
  unsigned flags = 0;
  Address alias = 0;
  std::uint64_t padding = 0;
};
static_assert(sizeof(MemoryOperation) == 48 && offsetof(MemoryOperation, value) == 16 &&
              offsetof(MemoryOperation, alias) == 32);

struct Driver {
  Result (*init)(unsigned flags);
  Result (*error_name)(Result result, const char** name);
  Result (*error_text)(Result result, const char** text);
  Result (*current_context)(Context* context);
  Result (*set_context)(Context context);
  Result (*context_device)(Device* device);
  Result (*device_attribute)(int* value, int attribute, Device device);
  Result (*is_capturing)(Stream stream, int* status);
  Result (*exchange_capture_mode)(int* mode);  // null: the driver has none
  // Null: the driver, which is older than CUDA 11.3, has none of the four.
  Result (*capture_info)(Stream stream, int* status, std::uint64_t* id, Graph* graph,
                         const void** dependencies, std::size_t* count);
  Result (*create_user_object)(UserObject* object, void* pointer, void (*destroy)(void*), unsigned count,
                               unsigned flags);
  Result (*release_user_object)(UserObject object, unsigned count);
  Result (*retain_user_object)(Graph graph, UserObject object, unsigned count, unsigned flags);
  Result (*synchronize)(Stream stream);
  Result (*create_stream)(Stream* stream, unsigned flags);
  Result (*destroy_stream)(Stream stream);
  Result (*memory_operations)(Stream stream, unsigned count, MemoryOperation* operations, unsigned flags);
  Result (*allocate_host)(void** memory, std::size_t size, unsigned flags);
  Result (*free_host)(void* memory);
  Result (*pointer_attribute)(void* value, int attribute, Address address);
  Result (*copy)(Address to, Address from, std::size_t size, Stream stream);
  Result (*create_event)(Event* event, unsigned flags);
  Result (*record_event)(Event event, Stream stream);
  Result (*query_event)(Event event);
  Result (*destroy_event)(Event event);
  Result (*load_module)(Module* module, const void* text);
  Result (*unload_module)(Module module);
  Result (*find_function)(Function* function, Module module, const char* name);
  Result (*launch)(Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared_bytes, Stream stream, void** arguments, void** extra);
  bool has_second_version = false;  // of the operations on memory

  /// Loads the library at the first call with its name, and keeps it. Throws weft::Error. Any thread.
  [[nodiscard]] static const Driver& load(std::string_view library);
  /// Throws weft::Error that names the function and what the driver says, unless the result is success.
  void check(Result result, const char* function) const;
};

}  // namespace weft::accelerator::cuda
