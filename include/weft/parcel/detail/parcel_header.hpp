// The form of a parcel, and what sends it.
#pragma once

#include <weft/parcel/archive.hpp>
#include <weft/parcel/future.hpp>
#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace weft::parcel {

class Runtime;

namespace detail {

class Core;
class ActionEntry;

/// A parcel is this header, then 8 bytes that name the call if somebody waits for an answer, then 8 bytes
/// with the number of its chunks if it has any, then the arguments.
struct ParcelHeader {
  std::uint32_t size;    ///< in bytes, this header included
  std::uint32_t action;  ///< its number, 1 or more, and the flags below
};
inline constexpr std::uint32_t kHasCall = 1U << 31;
inline constexpr std::uint32_t kHasChunks = 1U << 30;
/// An answer: instead of an action's number there is the code of the value's type. The first argument says
/// whether it is a value or the text of an exception, which has the code 0.
inline constexpr std::uint32_t kAnswer = 1U << 29;
inline constexpr std::uint32_t kActionBits = kAnswer - 1;
/// Not an action: a record of the runtime itself, alone in its message.
inline constexpr std::uint32_t kControl = kActionBits;

/// A number for the type of a result, the same in all ranks of a program: an answer with another one is not
/// what its call waits for. Never 0.
template <class T>
[[nodiscard]] consteval std::uint32_t type_code() {
  std::uint32_t hash = 0x811c9dc5;
  for (const char letter : std::string_view(__PRETTY_FUNCTION__))
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193;
  return (hash % (kActionBits - 1)) + 1;
}

/// How the answer of a call is stored in the future that waits for it.
struct AnswerOperations {
  std::uint32_t type;  ///< type_code() of the result
  void (*read)(FutureStateBase& state, Reader& reader);
  void (*finish)(FutureStateBase& state) noexcept;
};
template <class T>
inline constexpr AnswerOperations answer_operations{
    type_code<NotVoid<T>>(),
    [](FutureStateBase& state, Reader& reader) {
      auto& value = static_cast<FutureState<T>&>(state).decoded();
      if constexpr (!std::is_void_v<T>) reader(value);
    },
    [](FutureStateBase& state) noexcept { static_cast<FutureState<T>&>(state).finish(); }};

// The runtime's side of calls; any thread.

[[nodiscard]] WEFT_API std::size_t zero_copy_threshold(const Core& core) noexcept;
[[nodiscard]] WEFT_API Scheduler& scheduler_of(Core& core) noexcept;
/// Keeps the state, with one reference, until the answer comes or the rank fails. Returns the call's name.
[[nodiscard]] WEFT_API std::uint64_t begin_call(Core& core, int rank, FutureStateBase& state,
                                                const AnswerOperations& operations);
/// Forgets a call whose parcel could not be sent.
WEFT_API void withdraw_call(Core& core, int rank, std::uint64_t call) noexcept;
/// Sends what `writer` holds, a whole parcel but for its size, and with ActionEntry::index() where the
/// action's number belongs. `held` keeps the values that its chunks lie in. Does not wait for the rank; a
/// task, or a thread that is no worker, waits while RuntimeOptions::pending_limit is reached.
WEFT_API void send_parcel(Core& core, int rank, Writer& writer, std::unique_ptr<HeldValues> held);
/// Answers a call with the text of the exception that is being handled; logs it when nobody waits.
WEFT_API void answer_exception(Core& core, int rank, std::uint64_t call, const ActionEntry& entry) noexcept;
/// Throws weft::Error unless the rank is one of the job.
WEFT_API void check_rank(const Core& core, int rank);
/// Throws weft::Error unless the action can be called there: the rank is one of the job, the action was known
/// when the runtime started, and the runtime has not ended.
WEFT_API void check_call(const Core& core, int rank, const ActionEntry& entry);

template <class Values>
struct HeldValuesOf final : HeldValues {
  explicit HeldValuesOf(Values&& given) : values(std::move(given)) {}
  Values values;
};

inline void write_header(Writer& writer, std::uint32_t action, std::uint64_t call, bool has_chunks) {
  const std::uint32_t flags = (call != 0 ? kHasCall : 0) | (has_chunks ? kHasChunks : 0);
  const ParcelHeader header{0, action | flags};
  writer.bytes(&header, sizeof header);
  if (call != 0) writer.bytes(&call, sizeof call);
  if (has_chunks) {
    const std::uint64_t chunks = 0;  // known later
    writer.bytes(&chunks, sizeof chunks);
  }
}

/// Serializes `values` behind a header and sends it. They are moved from when chunks lie in them.
template <class Values, class Write>
void send_values(Core& core, int rank, std::uint32_t action, std::uint64_t call, Values&& values,
                 const Write& write) {
  Writer writer(zero_copy_threshold(core));
  write_header(writer, action, call, false);
  write(writer, values);
  if (writer.chunks().empty()) [[likely]] {
    send_parcel(core, rank, writer, nullptr);
    return;
  }
  // Chunks stay where they are when their containers are moved, but values in place do not: once more.
  auto held = std::make_unique<HeldValuesOf<std::decay_t<Values>>>(std::move(values));
  writer.clear();
  write_header(writer, action, call, true);
  write(writer, held->values);
  send_parcel(core, rank, writer, std::move(held));
}

/// Answers a call with a value.
template <class T>
void answer(Core& core, int rank, std::uint64_t call, T&& value) {
  send_values(core, rank, kAnswer | type_code<std::decay_t<T>>(), call, std::forward<T>(value),
              [](Writer& writer, const auto& result) {
                const std::uint8_t is_error = 0;
                writer.bytes(&is_error, 1);
                if constexpr (!std::is_same_v<std::decay_t<decltype(result)>, Nothing>) writer(result);
              });
}

}  // namespace detail
}  // namespace weft::parcel
