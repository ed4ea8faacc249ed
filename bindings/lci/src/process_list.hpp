// What the process has of a kind, and what programs hold handles of.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace lci {

/// All objects of a type, and the mutex under which they enter and leave. Never destroyed: threads and
/// objects of the program may end after everything else.
template <class Type>
struct ProcessList {
  std::mutex mutex;
  std::vector<Type*> all;
  [[nodiscard]] static ProcessList& get() {
    static ProcessList& only = *new ProcessList;
    return only;
  }
};

[[noreturn]] void refuse(const std::string& what);

/// The objects of one kind that the program has allocated, and has to free: each of them once.
template <class Impl>
class Handles {
 public:
  /// Returns the object, which the program owns from now on.
  [[nodiscard]] static Impl* give(std::unique_ptr<Impl> made) {
    Held& held = Held::get();
    const std::lock_guard lock(held.mutex);
    held.all.insert(made.get());
    return made.release();
  }
  /// Takes the object back. Throws std::runtime_error for what the program does not own, or no longer.
  [[nodiscard]] static std::unique_ptr<Impl> take(Impl* impl, const char* operation) {
    Held& held = Held::get();
    const std::lock_guard lock(held.mutex);
    if (held.all.erase(impl) == 0) refuse_stranger(operation);
    return std::unique_ptr<Impl>(impl);
  }
  /// Throws std::runtime_error for an object that the program does not own, or no longer.
  static void check(Impl* impl, const char* operation) {
    Held& held = Held::get();
    const std::lock_guard lock(held.mutex);
    if (!held.all.contains(impl)) refuse_stranger(operation);
  }
  /// Takes all of which `belongs` is true.
  template <class Belongs>
  [[nodiscard]] static std::vector<std::unique_ptr<Impl>> take_all(const Belongs& belongs) {
    Held& held = Held::get();
    const std::lock_guard lock(held.mutex);
    std::vector<std::unique_ptr<Impl>> taken;
    std::erase_if(held.all, [&](Impl* impl) {
      if (!belongs(*impl)) return false;
      taken.emplace_back(impl);
      return true;
    });
    return taken;
  }

 private:
  /// Never destroyed, as ProcessList.
  struct Held {
    std::mutex mutex;
    std::unordered_set<Impl*> all;
    [[nodiscard]] static Held& get() {
      static Held& only = *new Held;
      return only;
    }
  };
  [[noreturn]] static void refuse_stranger(const char* operation) {
    refuse(std::string(operation) +
           ": the handle is not one that the program has allocated: it was freed before, or is a default");
  }
};

/// What was left of a runtime, or of a device, and is freed with it: says so in a line.
class Leftovers {
 public:
  explicit Leftovers(const char* owner) : owner_(owner) {}
  /// Frees them.
  template <class Impl>
  void free(std::vector<std::unique_ptr<Impl>> left, const char* kind) {
    if (left.empty()) return;
    text_ += (text_.empty() ? "" : ", ") + std::to_string(left.size()) + " " + kind;
  }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers();

 private:
  const char* const owner_;
  std::string text_;
};

}  // namespace lci
