// Actions: functions that other ranks can call.
//
//     double norm(std::vector<double> values);
//     auto there = runtime.async(1, weft::parcel::action<&norm>, std::move(values));
//     auto twice = runtime.async(1, [](int value) { return 2 * value; }, 21);
//
// An action is an empty type that can be called: action<&function>, action<&Class::member>, a lambda without
// captures, a function object without members. To use it is to register it, by its type, before main(), or
// when a library that uses it is loaded; the ranks agree on its number when a Runtime starts, so a library
// whose actions others shall run is loaded before. Actions of one name in several libraries are told apart by
// the names of the libraries' files. A first parameter of type Runtime& is the runtime in which the
// action runs, and is not passed by the caller. An action that returns Future<T>, a coroutine for example,
// answers when that is ready.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/parcel/archive.hpp>
#include <weft/parcel/future.hpp>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace weft::parcel {

class Runtime;

/// A function or member function as an action.
template <auto Function>
struct Action {};
template <auto Function>
inline constexpr Action<Function> action{};

namespace detail {

template <class... Parameters>
struct ParametersOf {
  using Values = std::tuple<std::decay_t<Parameters>...>;
  static constexpr bool wants_runtime = false;
  template <class Function>
  static decltype(auto) call(const Function& function, Runtime&, Values& values) {
    return std::apply(
        [&](auto&... each) -> decltype(auto) { return function(static_cast<Parameters&&>(each)...); },
        values);
  }
};
template <class... Parameters>
struct ParametersOf<Runtime&, Parameters...> {
  using Values = std::tuple<std::decay_t<Parameters>...>;
  static constexpr bool wants_runtime = true;
  template <class Function>
  static decltype(auto) call(const Function& function, Runtime& runtime, Values& values) {
    return std::apply(
        [&](auto&... each) -> decltype(auto) {
          return function(runtime, static_cast<Parameters&&>(each)...);
        },
        values);
  }
};

template <class Function>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> : ParametersOf<P...> {
  using Result = R;
};
template <class R, class... P>
struct Signature<R (*)(P...) noexcept> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)> : ParametersOf<P...> {
  using Result = R;
  using Class = C;
};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const> : Signature<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) noexcept> : Signature<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const noexcept> : Signature<R (C::*)(P...)> {};

/// What an action takes and gives, and how it is called.
template <class A>
struct ActionTraits : Signature<decltype(&A::operator())> {
  static_assert(std::is_empty_v<A>, "weft: an action cannot have captures: pass them as arguments");
  using Base = Signature<decltype(&A::operator())>;
  static decltype(auto) invoke(Runtime& runtime, typename Base::Values& values) {
    return Base::call(A{}, runtime, values);
  }
};
template <auto Function>
struct ActionTraits<Action<Function>> : Signature<decltype(Function)> {
  using Base = Signature<decltype(Function)>;
  static decltype(auto) invoke(Runtime& runtime, typename Base::Values& values) {
    return Base::call(Function, runtime, values);
  }
};

template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<Future<T>> {
  using type = T;
};
/// The type of an action's answer.
template <class A>
using ResultOf = std::decay_t<typename Unwrapped<typename ActionTraits<A>::Result>::type>;

/// A parcel whose bytes have been decoded: it runs as a task, once its chunks have come.
struct DecodedParcel : Task {
  explicit DecodedParcel(Execute run) noexcept : Task(run) {}
  virtual ~DecodedParcel() = default;
  int source = -1;
  bool is_counted = true;
};

/// What a parcel says besides its arguments.
struct ParcelOrigin {
  Runtime& runtime;
  int source;
  std::uint64_t call;  ///< names the future that waits for the answer; 0: nobody waits
};

/// Whoever holds the bytes of a parcel; told when they are not needed any more.
class ParcelBytes {
 public:
  virtual void decoded() noexcept = 0;

 protected:
  ~ParcelBytes() = default;
};

/// One registered action, for as long as its library is loaded.
class ActionEntry {
 public:
  using Run = void (*)(const ParcelOrigin&, Reader&, ParcelBytes&);
  using Decode = DecodedParcel* (*)(const ParcelOrigin&, Reader&);
  WEFT_API ActionEntry(const std::type_info& action_type, Run run_now, Decode decode_only) noexcept;
  WEFT_API ~ActionEntry();
  ActionEntry(const ActionEntry&) = delete;
  ActionEntry& operator=(const ActionEntry&) = delete;

  const std::type_info& type;
  const Run run;        ///< decodes, and calls in the same thread
  const Decode decode;  ///< decodes, for parcels whose chunks are still to come
  /// Of this process, and never another action's: from it a runtime knows the number that its ranks agree on.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }

 private:
  std::uint32_t index_ = 0;
};

}  // namespace detail
}  // namespace weft::parcel
