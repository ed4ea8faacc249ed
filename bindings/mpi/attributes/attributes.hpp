// Attributes that programs attach to communicators, datatypes and windows.
#pragma once

#include "bindings/mpi/objects/object.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace weft::mpi {

/// Callbacks of the three kinds of objects differ in the type of the handle only.
using CopyAttribute = int (*)(void* object, int keyval, void* extra, void* value, void* copied, int* flag);
using DeleteAttribute = int (*)(void* object, int keyval, void* value, void* extra);

enum class KeyvalOf : std::uint8_t { communicator, datatype, window };

/// A new key. The functions may be the ABI's constants for "copy nothing", "copy the value" and "delete
/// nothing".
[[nodiscard]] int create_keyval(KeyvalOf of, CopyAttribute copy, DeleteAttribute drop, void* extra);
/// The key is forgotten when the last attribute with it is gone. Sets it to MPI_KEYVAL_INVALID.
void free_keyval(KeyvalOf of, int* keyval);

/// The attributes of one object. Callbacks run without the lock.
class Attributes {
 public:
  explicit Attributes(KeyvalOf of) noexcept : of_(of) {}

  void set(void* object, int keyval, void* value);
  [[nodiscard]] bool get(int keyval, void** value) const;
  void remove(void* object, int keyval);
  /// Copies those whose copy functions say so to `to`, which belongs to a copy of the object.
  void copy_to(Attributes& to, void* object) const;
  /// Deletes all, the newest first.
  void clear(void* object);

 private:
  using Entry = std::pair<int, void*>;
  void drop(void* object, const Entry& entry);

  const KeyvalOf of_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace weft::mpi
