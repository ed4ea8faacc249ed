// Exceptions that keep their type on their way to the rank that has called.
#pragma once

#include <weft/parcel/archive.hpp>

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace weft::parcel {

namespace detail {

/// The rank on which an exception of a registered type was thrown.
class ThrownOn {
 public:
  explicit ThrownOn(int rank) noexcept : rank_(rank) {}
  virtual ~ThrownOn() = default;
  ThrownOn(const ThrownOn&) = default;
  ThrownOn& operator=(const ThrownOn&) = default;
  [[nodiscard]] int thrown_on() const noexcept { return rank_; }

 private:
  int rank_;
};

/// What callers get: a T that knows its rank.
template <class T>
class ThrownElsewhere final : public T, public ThrownOn {
 public:
  ThrownElsewhere(T&& error, int rank) : T(std::move(error)), ThrownOn(rank) {}
};

/// How exceptions of one type travel.
struct ExceptionEntry {
  /// Of the exception that is being handled.
  void (*write)(Writer& writer);
  std::exception_ptr (*read)(Reader& reader, int rank);
};
WEFT_API void add_exception(const std::type_info& type, const std::type_info& elsewhere,
                            const ExceptionEntry& entry);
/// Writes the exception that is being handled, of which `text` tells: as an answer to a call.
WEFT_API void write_exception(Writer& writer, const std::string& text);
/// Reads it: the registered type, or RemoteError.
[[nodiscard]] WEFT_API std::exception_ptr read_exception(Reader& reader, int rank, bool has_type);

template <class T>
inline constexpr bool has_serialize = HasMemberSerialize<T> || HasSerialize<T>;

template <class T>
[[nodiscard]] std::exception_ptr remote_exception(T&& error, int rank) {
  if constexpr (std::is_final_v<T>)
    return std::make_exception_ptr(std::move(error));
  else
    return std::make_exception_ptr(ThrownElsewhere<T>(std::move(error), rank));
}

template <class T>
inline constexpr ExceptionEntry exception_entry{[](Writer& writer) {
                                                  try {
                                                    throw;
                                                  } catch (const T& error) {
                                                    if constexpr (has_serialize<T>)
                                                      writer(error);
                                                    else
                                                      writer(std::string(error.what()));
                                                  }
                                                },
                                                [](Reader& reader, int rank) {
                                                  if constexpr (has_serialize<T>) {
                                                    T error;
                                                    reader(error);
                                                    return remote_exception(std::move(error), rank);
                                                  } else {
                                                    std::string text;
                                                    reader(text);
                                                    return remote_exception(T(text), rank);
                                                  }
                                                }};

}  // namespace detail

/// From now on exceptions of type T (not of types derived from it) that actions throw on this rank arrive as
/// such at their callers, where T has to be registered, too: they are caught as T. T either has a function
/// serialize(archive, error), and a default constructor, or is made of its what(). Exceptions of other types
/// arrive as RemoteError with their what(). Any thread; a second call has no effect.
///
/// After hpx::exception_list and Boost.Exception's cloning; HPX sends all types of the standard library by
/// itself, here they are registered like any other.
template <class T>
void register_exception() {
  static_assert(std::is_base_of_v<std::exception, T>, "weft: only types derived from std::exception travel");
  static_assert(
      detail::has_serialize<T> ? std::is_default_constructible_v<T>
                               : std::is_constructible_v<T, const std::string&>,
      "weft: an exception that travels needs a function serialize() and a default constructor, or a "
      "constructor from its what()");
  if constexpr (std::is_final_v<T>)
    detail::add_exception(typeid(T), typeid(T), detail::exception_entry<T>);
  else
    detail::add_exception(typeid(T), typeid(detail::ThrownElsewhere<T>), detail::exception_entry<T>);
}

/// The rank that an exception of a future names: where the action has thrown it (RemoteError, and registered
/// types that are not final), or which rank has failed (PeerFailed). Nothing for exceptions of this rank.
[[nodiscard]] WEFT_API std::optional<int> rank_of(const std::exception& error) noexcept;

}  // namespace weft::parcel

/// register_exception<T>() before main(); at namespace scope, in one source file of the program.
#define WEFT_PARCEL_EXCEPTION(...) WEFT_PARCEL_EXCEPTION_AT(__COUNTER__, __VA_ARGS__)
#define WEFT_PARCEL_EXCEPTION_AT(number, ...) WEFT_PARCEL_EXCEPTION_NAMED(number, __VA_ARGS__)
#define WEFT_PARCEL_EXCEPTION_NAMED(number, ...)                           \
  [[maybe_unused]] static const bool weft_parcel_exception_##number = [] { \
    ::weft::parcel::register_exception<__VA_ARGS__>();                     \
    return true;                                                           \
  }()
