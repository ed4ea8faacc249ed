#include "bindings/mpi/objects/object.hpp"

#include <mutex>
#include <vector>

namespace weft::mpi {

constinit Object* predefined_objects[kPredefinedHandles] = {};

namespace {

constexpr int kFirstNumber = 4096;

struct Numbers {
  std::mutex mutex;
  std::vector<void*> handles;  // by number - kFirstNumber
  std::vector<int> free;
};
Numbers& numbers() {
  static Numbers* const all = new Numbers;  // objects may be destroyed after main()
  return *all;
}

}  // namespace

Object::~Object() {
  end_object(*this);
  if (number.load(std::memory_order_relaxed) != 0) give_back_number(*this);
}

void give_back_number(Object& object) noexcept {
  const std::lock_guard lock(numbers().mutex);
  const int named = object.number.exchange(0, std::memory_order_relaxed);
  numbers().handles[static_cast<std::size_t>(named - kFirstNumber)] = nullptr;
  numbers().free.push_back(named);
}

int number_of_handle(const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < kPredefinedHandles) return static_cast<int>(value);
  auto* const object = static_cast<Object*>(const_cast<void*>(handle));
  const std::lock_guard lock(numbers().mutex);
  if (const int named = object->number.load(std::memory_order_relaxed); named != 0) return named;
  Numbers& all = numbers();
  int number = kFirstNumber + static_cast<int>(all.handles.size());
  if (all.free.empty()) {
    all.handles.push_back(object);
  } else {
    number = all.free.back();
    all.free.pop_back();
    all.handles[static_cast<std::size_t>(number - kFirstNumber)] = object;
  }
  object->number.store(number, std::memory_order_relaxed);
  return number;
}

void* handle_of_number(int number) {
  if (number >= 0 && number < static_cast<int>(kPredefinedHandles))
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  const std::lock_guard lock(numbers().mutex);
  const auto index = static_cast<std::size_t>(number - kFirstNumber);
  return number >= kFirstNumber && index < numbers().handles.size() ? numbers().handles[index] : nullptr;
}

}  // namespace weft::mpi
