// Calls of actions: how they leave, and what runs on the rank where they arrive. Included by runtime.hpp.
#pragma once

#include <weft/parcel/detail/spawned.hpp>
#include <weft/parcel/runtime.hpp>

namespace weft::parcel {

namespace detail {

/// Answers a call with what the future, which is ready, has.
template <class T>
void answer_with(Core& core, int source, std::uint64_t call, Future<T>& future,
                 const ActionEntry& entry) noexcept {
  try {
    if constexpr (std::is_void_v<T>) {
      future.get();
      if (call != 0) answer(core, source, call, Nothing{});
    } else {
      auto value = future.get();
      if (call != 0) answer(core, source, call, std::move(value));
    }
  } catch (...) {
    answer_exception(core, source, call, entry);
  }
}

/// Calls an action with decoded arguments, and answers.
template <class A>
void call_and_answer(const ParcelOrigin& origin, typename ActionTraits<A>::Values& values,
                     const ActionEntry& entry) noexcept {
  using Result = typename ActionTraits<A>::Result;
  Core& core = origin.runtime.core();
  try {
    if constexpr (is_a<Result, Future>) {
      auto future = ActionTraits<A>::invoke(origin.runtime, values);
      auto& state = future.state();
      if (state.ready()) {
        answer_with(core, origin.source, origin.call, future, entry);
        return;
      }
      // Whoever has the promise may keep it longer than the runtime lives.
      state.when_ready(continuation([future = std::move(future), link = origin.runtime.link(),
                                     source = origin.source, call = origin.call, &entry]() mutable noexcept {
        const RuntimeUse use(*link);
        if (use) answer_with(use.get("").core(), source, call, future, entry);
      }));
    } else if constexpr (std::is_void_v<Result>) {
      ActionTraits<A>::invoke(origin.runtime, values);
      if (origin.call != 0) answer(core, origin.source, origin.call, Nothing{});
    } else {
      std::decay_t<Result> value = ActionTraits<A>::invoke(origin.runtime, values);
      if (origin.call != 0) answer(core, origin.source, origin.call, std::move(value));
    }
  } catch (...) {
    answer_exception(core, origin.source, origin.call, entry);
  }
}

template <class A>
struct Registered {
  using Values = typename ActionTraits<A>::Values;
  struct Decoded final : DecodedParcel {
    explicit Decoded(const ParcelOrigin& given) : DecodedParcel(&run), origin(given) {}
    static void run(Task& task) noexcept {
      auto& self = static_cast<Decoded&>(task);
      call_and_answer<A>(self.origin, self.values, entry);
      delete &self;
    }
    ParcelOrigin origin;
    Values values{};
  };

  static void run(const ParcelOrigin& origin, Reader& reader, ParcelBytes& bytes) {
    Values values{};
    std::apply([&](auto&... each) { reader(each...); }, values);
    reader.finish();
    bytes.decoded();
    call_and_answer<A>(origin, values, entry);
  }
  static DecodedParcel* decode(const ParcelOrigin& origin, Reader& reader) {
    auto decoded = std::make_unique<Decoded>(origin);
    std::apply([&](auto&... each) { reader(each...); }, decoded->values);
    return decoded.release();
  }
  static ActionEntry entry;
};
template <class A>
ActionEntry Registered<A>::entry{typeid(A), &Registered<A>::run, &Registered<A>::decode};

/// The arguments of a call as the action's parameter types. References where nothing has to be converted.
template <class Values, class... Arguments>
Values to_values(Arguments&&... arguments) {
  return Values(std::forward<Arguments>(arguments)...);
}

template <class A, class... Arguments>
void send_call(Core& core, int rank, std::uint64_t call, Arguments&&... arguments) {
  using Values = typename ActionTraits<A>::Values;
  send_values(core, rank, Registered<A>::entry.index(), call,
              to_values<Values>(std::forward<Arguments>(arguments)...),
              [](Writer& writer, const Values& values) {
                std::apply([&](const auto&... each) { writer(each...); }, values);
              });
}

/// Ends `promise` as the future ends that `function()` returns.
template <class T, class Function>
void fulfil_by(Promise<T> promise, Function&& function) noexcept {
  Future<T> future;
  std::exception_ptr error;
  try {
    future = function();
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    promise.set_exception(std::move(error));
    return;
  }
  auto& state = future.state();
  if (state.ready()) {
    fulfil(promise, [&]() -> T { return future.get(); });
    return;
  }
  state.when_ready(
      continuation([promise = std::move(promise), future = std::move(future)]() mutable noexcept {
        fulfil(promise, [&]() -> T { return future.get(); });
      }));
}

/// Runs the function, which returns a `Returned`, as a task, and returns the future of its result.
template <class Result, class Returned, class Function>
[[nodiscard]] Future<Result> spawn_as(Scheduler& scheduler, Function function, const SpawnOptions& options) {
  if constexpr (is_a<Returned, Future>) {
    Promise<Result> promise(&scheduler);
    Future<Result> future = promise.future();
    auto call = [promise = std::move(promise), function = std::move(function)]() mutable noexcept {
      fulfil_by(std::move(promise), function);
    };
    scheduler.schedule(*new FunctionTask<decltype(call)>(std::move(call)), options);
    return future;
  } else {
    auto& spawned = *new Spawned<Result, Function>(scheduler, std::move(function));
    Future<Result> future{FutureReference<Result>(&spawned)};
    scheduler.schedule(spawned, options);
    return future;
  }
}

}  // namespace detail

template <class A, class Values>
Future<detail::ResultOf<A>> Runtime::call_here(Values values) {
  return detail::spawn_as<detail::ResultOf<A>, typename detail::ActionTraits<A>::Result>(
      scheduler(),
      [this, values = std::move(values)]() mutable -> decltype(auto) {
        return detail::ActionTraits<A>::invoke(*this, values);
      },
      {});
}

template <class A, class... Arguments>
Future<detail::ResultOf<A>> Runtime::async(int rank, A, Arguments&&... arguments) {
  using Result = detail::ResultOf<A>;
  using Values = typename detail::ActionTraits<A>::Values;
  static_assert(std::tuple_size_v<Values> == sizeof...(Arguments),
                "weft: the action takes another number of arguments");
  if (rank == rank_) {
    return call_here<A>(detail::to_values<Values>(std::forward<Arguments>(arguments)...));
  }
  detail::check_call(*core_, rank, detail::Registered<A>::entry);
  auto state = detail::make_state<Result>(&scheduler());
  const std::uint64_t call = detail::begin_call(*core_, rank, *state, detail::answer_operations<Result>);
  try {
    detail::send_call<A>(*core_, rank, call, std::forward<Arguments>(arguments)...);
  } catch (...) {
    detail::withdraw_call(*core_, rank, call);
    throw;
  }
  return Future<Result>(std::move(state));
}

template <class A, class... Arguments>
void Runtime::apply(int rank, A, Arguments&&... arguments) {
  using Values = typename detail::ActionTraits<A>::Values;
  static_assert(std::tuple_size_v<Values> == sizeof...(Arguments),
                "weft: the action takes another number of arguments");
  if (rank == rank_) {
    detail::schedule_call(
        scheduler(),
        [this, values = detail::to_values<Values>(std::forward<Arguments>(arguments)...)]() mutable noexcept {
          detail::call_and_answer<A>({*this, rank_, 0}, values, detail::Registered<A>::entry);
        });
    return;
  }
  detail::check_call(*core_, rank, detail::Registered<A>::entry);
  detail::send_call<A>(*core_, rank, 0, std::forward<Arguments>(arguments)...);
}

template <class Function>
auto Runtime::spawn(Function function, const SpawnOptions& options) {
  using Returned = std::invoke_result_t<Function&>;
  using Result = typename detail::Unwrapped<Returned>::type;
  return detail::spawn_as<Result, Returned>(scheduler(), std::move(function), options);
}

}  // namespace weft::parcel
