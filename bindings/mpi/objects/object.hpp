// What all objects of MPI have in common: a kind, a count of references, and a handle.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace weft::mpi {

enum class Kind : std::uint32_t {
  communicator = 0x4d500001,
  datatype,
  errhandler,
  group,
  info,
  message,
  operation,
  request,
  session,
};

/// An object that a handle names. Handles are addresses; those of predefined objects are numbers of the ABI.
struct Object {
  explicit Object(Kind own_kind) noexcept : kind(own_kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();

  Kind kind;
  std::atomic<std::int32_t> references{1};
  std::atomic<std::int32_t> number{0};  // of the handle, if MPI_..._toint has given it one
  std::uint32_t predefined = 0;         // its handle, if it is predefined
};

/// Handles below this are predefined.
inline constexpr std::uintptr_t kPredefinedHandles = 1024;
extern Object* predefined_objects[kPredefinedHandles];

/// Makes a handle of the ABI name an object that lives as long as the library.
template <class Handle>
void define(Handle handle, Object& object) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  object.predefined = static_cast<std::uint32_t>(value);
  predefined_objects[value] = &object;
}

/// The object of type T that a handle names, or nullptr: a null handle, or one of another kind.
template <class T, class Handle>
[[nodiscard]] T* find(Handle handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if ((value & 7) != 0 && value >= kPredefinedHandles) return nullptr;
  Object* const object = value < kPredefinedHandles ? predefined_objects[value] : reinterpret_cast<T*>(value);
  return object != nullptr && object->kind == T::kKind ? static_cast<T*>(object) : nullptr;
}

template <class Handle, class T>
[[nodiscard]] Handle handle_of(const T* object) noexcept {
  return reinterpret_cast<Handle>(object->predefined != 0 ? std::uintptr_t{object->predefined}
                                                          : reinterpret_cast<std::uintptr_t>(object));
}

/// One more user of an object. Predefined objects are not counted.
template <class T>
T* retain(T* object) noexcept {
  if (object != nullptr && object->predefined == 0)
    object->references.fetch_add(1, std::memory_order_relaxed);
  return object;
}
/// One user less; the last one destroys it.
template <class T>
void release(T* object) noexcept {
  if (object == nullptr || object->predefined != 0) return;
  if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object;
}

/// A handle that the program still has is found to be one of no object, as long as its memory is not used
/// again.
inline void end_object(Object& object) noexcept { *static_cast<volatile Kind*>(&object.kind) = Kind{}; }

/// The integer that stands for a handle in Fortran: of predefined ones their number.
[[nodiscard]] int number_of_handle(const void* handle);
/// The integer of an object that has one stands for nothing any more.
void give_back_number(Object& object) noexcept;
/// The handle of such an integer, or nullptr if none has it.
[[nodiscard]] void* handle_of_number(int number);

}  // namespace weft::mpi
