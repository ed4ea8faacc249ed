// How values of each kind of type are written and read. Included by archive.hpp.
#pragma once

#include <weft/parcel/archive.hpp>

#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft::parcel::detail {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool is_a<Template<Arguments...>, Template> = true;

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

template <class T>
concept HasMemberSerialize = requires(T& value, Writer& writer, Reader& reader) {
  value.serialize(writer);
  value.serialize(reader);
};
template <class T>
concept HasSerialize = requires(T& value, Writer& writer, Reader& reader) {
  serialize(writer, value);
  serialize(reader, value);
};
/// Elements lie in a row on the heap, and stay there when the container is moved.
template <class T>
concept StableArray = (is_a<T, std::vector> || is_a<T, std::basic_string>)&&requires(T& value) {
  value.resize(1);
  requires std::is_same_v<decltype(value.data()), typename T::value_type*>;
  requires std::is_trivially_copyable_v<typename T::value_type>;
  requires !::weft::detail::refers_elsewhere<typename T::value_type>();
  requires !HasMemberSerialize<typename T::value_type> && !HasSerialize<typename T::value_type>;
};
/// The same, of an array of the layer's own.
template <class T>
concept TravellingArray = StableArray<T> ||
    (is_a<T, Array> && !::weft::detail::refers_elsewhere<typename T::value_type>());
template <class T>
concept MapLike = requires(T& value, typename T::key_type key) {
  typename T::mapped_type;
  value.begin();
  value.emplace(std::move(key), std::declval<typename T::mapped_type>());
};
template <class T>
concept SetLike = !MapLike<T> && requires(T & value, typename T::key_type key) {
  value.begin();
  value.insert(std::move(key));
};
/// A list whose elements can be made one by one and stay where they are: vector, deque, list.
template <class T>
concept ListLike = !MapLike<T> && !SetLike<T> && requires(T & value) {
  typename T::value_type;
  value.resize(1);
  value.begin();
  value.size();
};

template <class T>
inline constexpr bool is_unsupported = false;

/// Writes the elements of a list behind their number, each as at least one byte.
template <class List, class WriteOne>
void write_list(Writer& writer, const List& list, const WriteOne& write_one) {
  const std::uint64_t count = list.size();
  writer.bytes(&count, sizeof count);
  for (const auto& element : list) {
    const std::size_t before = writer.written().size();
    write_one(element);
    if (writer.written().size() == before) writer.bytes("", 1);
  }
}
template <class ReadOne>
void read_list(Reader& reader, std::size_t count, const ReadOne& read_one) {
  for (std::size_t index = 0; index < count; ++index) {
    const std::byte* const before = reader.position();
    read_one(index);
    if (reader.position() == before) reader.skip(1);
  }
}

template <class T>
void write_value(Writer& writer, const T& value) {
  if constexpr (HasMemberSerialize<T>) {
    const_cast<T&>(value).serialize(writer);
  } else if constexpr (HasSerialize<T>) {
    serialize(writer, const_cast<T&>(value));
  } else if constexpr (TravellingArray<T>) {
    writer.array(value.data(), value.size());
  } else if constexpr (std::is_array_v<T> || is_std_array<T>) {
    if constexpr (std::is_trivially_copyable_v<T> && !::weft::detail::refers_elsewhere<T>())
      writer.bytes(&value, sizeof value);
    else
      for (const auto& element : value) write_value(writer, element);
  } else if constexpr (is_a<T, std::pair> || is_a<T, std::tuple>) {
    std::apply([&](const auto&... members) { (write_value(writer, members), ...); }, value);
  } else if constexpr (is_a<T, std::optional> || is_a<T, std::unique_ptr> || is_a<T, std::shared_ptr>) {
    const std::uint8_t is_present = value ? 1 : 0;
    writer.bytes(&is_present, 1);
    if (value) write_value(writer, *value);
  } else if constexpr (is_a<T, std::variant>) {
    const auto index = static_cast<std::uint64_t>(value.index());
    writer.bytes(&index, sizeof index);
    if (!value.valueless_by_exception())
      std::visit([&](const auto& alternative) { write_value(writer, alternative); }, value);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    write_list(writer, value, [&](bool element) { writer.bytes(&element, 1); });
  } else if constexpr (MapLike<T>) {
    write_list(writer, value, [&](const auto& entry) {
      {
        Unchunked guard(writer);
        write_value(writer, entry.first);
      }
      write_value(writer, entry.second);
    });
  } else if constexpr (SetLike<T>) {
    Unchunked guard(writer);
    write_list(writer, value, [&](const auto& element) { write_value(writer, element); });
  } else if constexpr (std::is_trivially_copyable_v<T> && !::weft::detail::refers_elsewhere<T>()) {
    writer.bytes(&value, sizeof value);
  } else if constexpr (ListLike<T>) {
    write_list(writer, value, [&](const auto& element) { write_value(writer, element); });
  } else {
    static_assert(is_unsupported<T>,
                  "weft: this type cannot travel in a parcel: give it a function serialize(archive, value); "
                  "pointers and views cannot travel at all");
  }
}

template <std::size_t Index = 0, class... Alternatives>
void read_alternative(Reader& reader, std::variant<Alternatives...>& value, std::uint64_t index) {
  if constexpr (Index < sizeof...(Alternatives)) {
    if (index == Index)
      read_value(reader, value.template emplace<Index>());
    else
      read_alternative<Index + 1>(reader, value, index);
  } else {
    Reader::malformed("a variant has an alternative that does not exist");
  }
}

[[nodiscard]] inline bool read_flag(Reader& reader) {
  std::uint8_t flag = 0;
  reader.bytes(&flag, 1);
  if (flag > 1) Reader::malformed("a flag is neither 0 nor 1");
  return flag == 1;
}

template <class T>
void read_value(Reader& reader, T& value) {
  if constexpr (HasMemberSerialize<T>) {
    value.serialize(reader);
  } else if constexpr (HasSerialize<T>) {
    serialize(reader, value);
  } else if constexpr (TravellingArray<T>) {
    reader.array(value);
  } else if constexpr (std::is_array_v<T> || is_std_array<T>) {
    if constexpr (std::is_trivially_copyable_v<T> && !::weft::detail::refers_elsewhere<T>())
      reader.bytes(&value, sizeof value);
    else
      for (auto& element : value) read_value(reader, element);
  } else if constexpr (is_a<T, std::pair> || is_a<T, std::tuple>) {
    std::apply([&](auto&... members) { (read_value(reader, members), ...); }, value);
  } else if constexpr (is_a<T, std::optional> || is_a<T, std::unique_ptr> || is_a<T, std::shared_ptr>) {
    value.reset();
    if (!read_flag(reader)) return;
    if constexpr (is_a<T, std::optional>)
      value.emplace();
    else if constexpr (is_a<T, std::unique_ptr>)
      value = std::make_unique<typename T::element_type>();
    else
      value = std::make_shared<typename T::element_type>();
    read_value(reader, *value);
  } else if constexpr (is_a<T, std::variant>) {
    std::uint64_t index = 0;
    reader.bytes(&index, sizeof index);
    read_alternative(reader, value, index);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    value.resize(reader.count());
    read_list(reader, value.size(), [&](std::size_t index) { value[index] = read_flag(reader); });
  } else if constexpr (MapLike<T>) {
    value.clear();
    const std::size_t count = reader.count();
    read_list(reader, count, [&](std::size_t) {
      typename T::key_type key{};
      read_value(reader, key);
      // Decoded where it stays: a chunk may have to land in it.
      if constexpr (requires { value.try_emplace(std::move(key)).first->second; })
        read_value(reader, value.try_emplace(std::move(key)).first->second);
      else
        read_value(reader, value.emplace(std::move(key), typename T::mapped_type{})->second);
    });
    if (value.size() != count) Reader::malformed("a map has the same key twice");
  } else if constexpr (SetLike<T>) {
    value.clear();
    read_list(reader, reader.count(), [&](std::size_t) {
      typename T::key_type key{};
      read_value(reader, key);
      value.insert(std::move(key));
    });
  } else if constexpr (std::is_trivially_copyable_v<T> && !::weft::detail::refers_elsewhere<T>()) {
    reader.bytes(&value, sizeof value);
  } else if constexpr (ListLike<T>) {
    value.clear();
    value.resize(reader.count());
    auto element = value.begin();
    read_list(reader, value.size(), [&](std::size_t) { read_value(reader, *element++); });
  } else {
    static_assert(is_unsupported<T>, "weft: this type cannot travel in a parcel");
  }
}

}  // namespace weft::parcel::detail
