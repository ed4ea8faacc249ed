// Names of objects, known to all ranks of a job.
#pragma once

#include <weft/parcel/detail/runtime_part.hpp>
#include <weft/parcel/object.hpp>

#include <any>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace weft::parcel {

/// A name is taken, names an object of another type, or was not registered in time. what() says which.
class WEFT_API NameError : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// The names that one rank keeps.
class WEFT_API NameDirectory final : public RuntimePart {
 public:
  explicit NameDirectory(Core& core);

  /// `handle`: an Object of the type whose name is `type`. Throws NameError when the name is taken.
  void add(const std::string& name, std::any handle, const std::string& type);
  [[nodiscard]] bool remove(const std::string& name);
  using Found = std::function<void(const std::any& handle, const std::string& type)>;
  /// Calls `found` now, or when the name is registered. `ticket`: of forget().
  void find(const std::string& name, std::uint64_t ticket, Found found);
  /// Who has waited for the name does not any more; what it holds is dropped.
  void forget(const std::string& name, std::uint64_t ticket);

 private:
  struct Entry {
    std::any handle;  ///< empty: somebody waits
    std::string type;
    std::vector<std::pair<std::uint64_t, Found>> waiting;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

/// The rank that keeps a name.
[[nodiscard]] WEFT_API int rank_of_name(const Core& core, const std::string& name);
[[nodiscard]] WEFT_API std::uint64_t next_ticket(const Core& core) noexcept;
/// Readable names of types, for messages.
[[nodiscard]] WEFT_API std::string type_text(const std::type_info& type);

template <class T>
struct AddName {
  void operator()(Runtime& runtime, const std::string& name, Object<T> object) const {
    part_of<NameDirectory>(runtime.core())->add(name, std::move(object), type_text(typeid(T)));
  }
};
struct RemoveName {
  bool operator()(Runtime& runtime, const std::string& name) const {
    return part_of<NameDirectory>(runtime.core())->remove(name);
  }
};
struct ForgetName {
  void operator()(Runtime& runtime, const std::string& name, std::uint64_t ticket) const {
    part_of<NameDirectory>(runtime.core())->forget(name, ticket);
  }
};
template <class T>
struct FindName {
  Future<Object<T>> operator()(Runtime& runtime, const std::string& name, std::uint64_t ticket) const {
    auto promise = std::make_shared<Promise<Object<T>>>(&runtime.scheduler());
    auto future = promise->future();
    part_of<NameDirectory>(runtime.core())
        ->find(name, ticket, [promise, name](const std::any& handle, const std::string& type) {
          if (const auto* const object = std::any_cast<Object<T>>(&handle))
            promise->set(*object);
          else
            promise->set_exception(std::make_exception_ptr(
                NameError("the name '" + name + "' was looked up as an object of type " +
                          type_text(typeid(T)) + "; it names one of type " + type)));
        });
    return future;
  }
};

}  // namespace detail

/// Gives an object a name for all ranks. The name holds a handle, which keeps the object, until
/// unregister_name() or the end of the runtime. The future ends with NameError when the name is taken, and
/// with PeerFailed when the rank that keeps names like it has failed. Any thread.
///
/// After HPX's register_with_basename() and AGAS names; a name is one string, kept by the rank that its hash
/// says.
template <class T>
Future<void> register_name(Runtime& runtime, const std::string& name, const Object<T>& object) {
  if (!object) throw NameError("the name '" + name + "' was registered for a handle that names no object");
  return runtime.async(detail::rank_of_name(runtime.core(), name), detail::AddName<T>{}, name, object);
}
/// Takes the name away: false when there was none.
inline Future<bool> unregister_name(Runtime& runtime, const std::string& name) {
  return runtime.async(detail::rank_of_name(runtime.core(), name), detail::RemoveName{}, name);
}
/// The object of this name, as soon as it is registered: by any rank, now or later. NameError when it has
/// another type.
template <class T>
Future<Object<T>> look_up(Runtime& runtime, const std::string& name) {
  return runtime.async(detail::rank_of_name(runtime.core(), name), detail::FindName<T>{}, name,
                       detail::next_ticket(runtime.core()));
}
/// The same, or NameError when nobody has registered it after `longest`.
template <class T, class Rep, class Period>
Future<Object<T>> look_up(Runtime& runtime, const std::string& name,
                          std::chrono::duration<Rep, Period> longest) {
  const std::uint64_t ticket = detail::next_ticket(runtime.core());
  const int rank = detail::rank_of_name(runtime.core(), name);
  auto found = runtime.async(rank, detail::FindName<T>{}, name, ticket);
  return runtime.spawn([&runtime, rank, name, ticket, longest, found = std::move(found)]() mutable {
    if (!found.wait_for(longest)) {
      runtime.apply(rank, detail::ForgetName{}, name, ticket);
      throw NameError("the name '" + name + "' was looked up, and nobody has registered it in time");
    }
    return found.get();
  });
}

}  // namespace weft::parcel
