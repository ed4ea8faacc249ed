// Bytes that travel, as docs/internals/wire.md prints them, against those that the code makes.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::test {

/// Bytes, of which some differ from run to run: those are not compared.
class ExampleBytes {
 public:
  ExampleBytes() = default;
  /// The bytes of an object as they are in memory.
  template <class Object>
  requires std::is_trivially_copyable_v<Object>
  explicit ExampleBytes(const Object& object) { add(object); }

  ExampleBytes& add(const void* bytes, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), first, first + count);
    varies_.resize(bytes_.size(), false);
    return *this;
  }
  template <class Object>
  requires std::is_trivially_copyable_v<Object> ExampleBytes& add(const Object& object) {
    return add(&object, sizeof object);
  }
  /// The bytes of [begin, begin + count) are any.
  ExampleBytes& any(std::size_t begin, std::size_t count) {
    for (std::size_t place = begin; place < begin + count; ++place) varies_.at(place) = true;
    return *this;
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// "57 54 .. ", sixteen in a line.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<bool> varies_;
};

/// An example: a name in the document, and who makes the bytes. Made before main(); the tests are in
/// examples_test.cpp.
class Example {
 public:
  Example(const char* name, std::function<ExampleBytes()> make);
};

}  // namespace weft::test
