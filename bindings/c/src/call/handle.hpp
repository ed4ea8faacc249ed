// Handles: objects that calls recognize, so that a null pointer, a handle of another kind and one that has
// been destroyed are errors with a line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::c {

enum class HandleKind : std::uint32_t {
  runtime = 0x77656601,  // a number that other memory hardly has
  device,
  endpoint,
  engine,
  completion,
  region,
  collective,
  collective_operation,
  context,
  team,
  graph,
  stream,
  stream_group,
  persistent,
  matched,
  progress_thread
};

/// Lies in front of each object, in memory that is never returned to the system: it can be read when the
/// object is gone.
struct HandleHeader {
  static constexpr std::uint32_t kGone = 0x80000000;  // in `kind`: the object has been destroyed

  std::atomic<std::uint32_t> kind{0};
  std::uint32_t units = 0;       // of the object
  HandleHeader* next = nullptr;  // of those that are free
};

/// The unit of the memory, and its alignment.
inline constexpr std::size_t kHandleUnit = 64;
static_assert(sizeof(HandleHeader) <= kHandleUnit);
/// The largest object.
inline constexpr std::size_t kLargestHandle = 64 * kHandleUnit;

[[nodiscard]] inline bool is_handle(const void* object, HandleKind kind) noexcept {
  if (reinterpret_cast<std::uintptr_t>(object) % kHandleUnit != 0) return false;
  const auto* const header =
      reinterpret_cast<const HandleHeader*>(static_cast<const std::byte*>(object) - kHandleUnit);
  return header->kind.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(kind);
}

/// Memory for an object, of those that were given back longest ago; a destroyed handle is thereby recognized
/// until many others have been destroyed. Any thread.
[[nodiscard]] void* take_handle(std::size_t bytes, HandleKind kind);
void give_back_handle(void* object) noexcept;

/// The base of objects that handles name.
template <HandleKind kKind>
struct Handle {
  static constexpr HandleKind kHandleKind = kKind;
  static void* operator new(std::size_t bytes) { return take_handle(bytes, kKind); }
  static void operator delete(void* object) noexcept { give_back_handle(object); }
};

/// Throws BadArgument for what is no handle of this kind.
[[noreturn]] void refuse_handle(const void* object, HandleKind wanted, const char* name);

template <class Object>
void check_handle(const Object* object, const char* name) {
  static_assert(sizeof(Object) <= kLargestHandle && alignof(Object) <= kHandleUnit);
  if (!is_handle(object, Object::kHandleKind)) [[unlikely]]
    refuse_handle(object, Object::kHandleKind, name);
}

}  // namespace weft::c
