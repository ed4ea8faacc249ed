#include "bindings/mpi/attributes/attributes.hpp"

#include "bindings/mpi/errors/failure.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

constexpr int kFirstKeyval = 1024;

struct Keyval {
  KeyvalOf of;
  CopyAttribute copy;
  DeleteAttribute drop;
  void* extra;
  int users = 1;  // attributes, and the program until it frees it
  bool is_freed = false;
};
struct Keyvals {
  std::mutex mutex;
  std::vector<Keyval> all;
};
Keyvals& keyvals() {
  static Keyvals* const all = new Keyvals;
  return *all;
}

[[noreturn]] void refuse_keyval(int keyval) {
  fail(MPI_ERR_KEYVAL, "key %d is none of this kind of object; MPI_..._create_keyval makes one", keyval);
}
Keyval& known_keyval(Keyvals& all, KeyvalOf of, int keyval) {
  const auto index = static_cast<std::size_t>(keyval - kFirstKeyval);
  if (keyval < kFirstKeyval || index >= all.all.size() || all.all[index].of != of) refuse_keyval(keyval);
  return all.all[index];
}

/// A copy of a key's row, with one more or less attribute that has it.
Keyval keyval_of(KeyvalOf of, int keyval, int users, bool may_be_freed) {
  Keyvals& all = keyvals();
  const std::lock_guard lock(all.mutex);
  Keyval& key = known_keyval(all, of, keyval);
  if (key.is_freed && !may_be_freed) refuse_keyval(keyval);
  key.users += users;
  return key;
}

}  // namespace

int create_keyval(KeyvalOf of, CopyAttribute copy, DeleteAttribute drop, void* extra) {
  Keyvals& all = keyvals();
  const std::lock_guard lock(all.mutex);
  all.all.push_back({of, copy, drop, extra});
  return kFirstKeyval + static_cast<int>(all.all.size()) - 1;
}

void free_keyval(KeyvalOf of, int* keyval) {
  Keyvals& all = keyvals();
  const std::lock_guard lock(all.mutex);
  Keyval& key = known_keyval(all, of, *keyval);
  // A key that has been freed is known for as long as an object has it: programs free it again where they
  // delete the attribute.
  if (key.is_freed && key.users <= 0) refuse_keyval(*keyval);
  if (!key.is_freed) --key.users;
  key.is_freed = true;
  *keyval = MPI_KEYVAL_INVALID;
}

void Attributes::drop(void* object, const Entry& entry) {
  const Keyval key = keyval_of(of_, entry.first, 0, true);
  if (key.drop != nullptr) {
    const int code = key.drop(object, entry.first, entry.second, key.extra);
    if (code != MPI_SUCCESS)
      fail(code, "the delete function of key %d failed with code %d", entry.first, code);
  }
  static_cast<void>(keyval_of(of_, entry.first, -1, true));  // behind the function, which may free the key
}

void Attributes::set(void* object, int keyval, void* value) {
  static_cast<void>(keyval_of(of_, keyval, 0, false));
  void* old = nullptr;
  if (get(keyval, &old)) remove(object, keyval);
  static_cast<void>(keyval_of(of_, keyval, 1, false));
  const std::lock_guard lock(mutex_);
  entries_.emplace_back(keyval, value);
}

bool Attributes::get(int keyval, void** value) const {
  static_cast<void>(keyval_of(of_, keyval, 0, true));
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.first == keyval) {
      *value = entry.second;
      return true;
    }
  return false;
}

void Attributes::remove(void* object, int keyval) {
  static_cast<void>(keyval_of(of_, keyval, 0, true));
  Entry found{MPI_KEYVAL_INVALID, nullptr};
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_)
      if (entry.first == keyval) found = entry;
  }
  if (found.first == MPI_KEYVAL_INVALID) return;
  drop(object, found);
  const std::lock_guard lock(mutex_);
  entries_.erase(std::remove(entries_.begin(), entries_.end(), found), entries_.end());
}

void Attributes::copy_to(Attributes& to, void* object) const {
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  for (const auto& [keyval, value] : entries) {
    const Keyval key = keyval_of(of_, keyval, 0, true);
    void* copied = value;
    int flag = 0;
    if (reinterpret_cast<std::uintptr_t>(key.copy) == 1) {  // MPI_..._DUP_FN
      flag = 1;
    } else if (key.copy != nullptr) {
      const int code = key.copy(object, keyval, key.extra, value, &copied, &flag);
      if (code != MPI_SUCCESS) fail(code, "the copy function of key %d failed with code %d", keyval, code);
    }
    if (flag == 0) continue;
    static_cast<void>(keyval_of(of_, keyval, 1, true));
    to.entries_.emplace_back(keyval, copied);
  }
}

void Attributes::clear(void* object) {
  for (;;) {
    int last = MPI_KEYVAL_INVALID;
    {
      const std::lock_guard lock(mutex_);
      if (entries_.empty()) return;
      last = entries_.back().first;
    }
    remove(object, last);
  }
}

}  // namespace weft::mpi
