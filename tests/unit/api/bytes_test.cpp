// What bytes_of() and mutable_bytes_of() make of what they are given. What they refuse:
// architecture/refused_bytes_test.py.
#include <weft/types.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {
namespace {

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

struct Pair {
  std::int32_t first;
  std::int16_t second;
};

/// A range of the program's own.
struct Slice {
  const std::int32_t* begin;
  std::uint32_t count;
  [[nodiscard]] const std::int32_t* data() const { return begin; }
  [[nodiscard]] std::uint32_t size() const { return count; }
};

/// Elements inside the object, some of which are used.
struct Few {
  std::int32_t items[4] = {};
  std::uint32_t count = 0;
  [[nodiscard]] std::int32_t* data() { return items; }
  [[nodiscard]] const std::int32_t* data() const { return items; }
  [[nodiscard]] std::size_t size() const { return count; }
};

TEST(BytesOf, AreTheRepresentationOfAnObject) {
  const Pair pair{1, 2};
  EXPECT_EQ(static_cast<const void*>(bytes_of(pair).data()), &pair);
  EXPECT_EQ(bytes_of(pair).size(), sizeof(Pair));
  double number = 0.5;
  EXPECT_EQ(static_cast<const void*>(bytes_of(number).data()), &number);
  const std::optional<std::int64_t> maybe = 7;
  EXPECT_EQ(bytes_of(maybe).size(), sizeof maybe);
  enum class Color : std::uint8_t { red };
  EXPECT_EQ(bytes_of(Color::red).size(), 1U);
}

TEST(BytesOf, OfATemporaryLastToTheEndOfTheStatement) {
  std::int32_t copy = 0;
  std::memcpy(&copy, bytes_of(Pair{41, 1}).data(), sizeof copy);
  EXPECT_EQ(copy, 41);
}

TEST(BytesOf, OfARangeAreItsElements) {
  const std::vector<std::int32_t> constant{1, 2, 3};
  std::vector<Pair> pairs(5);
  const std::array<double, 2> array{};
  EXPECT_EQ(static_cast<const void*>(bytes_of(constant).data()), constant.data());
  EXPECT_EQ(bytes_of(constant).size(), 12U);
  EXPECT_EQ(bytes_of(pairs).size(), 5 * sizeof(Pair));
  EXPECT_EQ(bytes_of(array).size(), 16U);
  EXPECT_EQ(bytes_of(std::span(constant)).size(), 12U);
  EXPECT_EQ(bytes_of(std::span(constant).first<2>()).size(), 8U);
  const Slice slice{constant.data() + 1, 2};
  EXPECT_EQ(static_cast<const void*>(bytes_of(slice).data()), constant.data() + 1);
  EXPECT_EQ(bytes_of(slice).size(), 8U);
  const std::array<std::array<std::int32_t, 2>, 3> nested{};
  EXPECT_EQ(bytes_of(nested).size(), 24U);
}

TEST(BytesOf, OfAnEmptyRangeAreNone) {
  EXPECT_TRUE(bytes_of(std::span<const double>()).empty());
  const std::vector<int> none;
  EXPECT_TRUE(bytes_of(none).empty());
  const std::string_view nothing;
  EXPECT_TRUE(bytes_of(nothing).empty());
}

TEST(BytesOf, OfWhatKeepsElementsInItselfAreThoseInUse) {
  Few few;
  few.count = 3;
  EXPECT_EQ(bytes_of(few).size(), 12U);
  const std::vector<Few> several(2);  // elements that are whole objects
  EXPECT_EQ(bytes_of(several).size(), 2 * sizeof(Few));
}

TEST(BytesOf, OfAnArrayAreItsElements) {
  std::int16_t numbers[6] = {};
  const std::int32_t matrix[2][3] = {};
  char buffer[8] = "abc";
  EXPECT_EQ(bytes_of(numbers).size(), 12U);
  EXPECT_EQ(bytes_of(matrix).size(), 24U);
  EXPECT_EQ(bytes_of(buffer).size(), 8U);
}

TEST(BytesOf, OfATextAreItsCharacters) {
  const std::string text = "seven..";
  EXPECT_EQ(text_of(bytes_of(text)), "seven..");
  EXPECT_EQ(text_of(bytes_of(std::string_view(text).substr(5))), "..");
  EXPECT_EQ(text_of(bytes_of(std::string_view("text"))), "text");
  EXPECT_EQ(bytes_of(std::u16string_view(u"text")).size(), 8U);
  char name[8] = "hello";  // an array, whatever it holds
  EXPECT_EQ(bytes_of(name).size(), 8U);
  const char letters[3] = {'a', 'b', 'c'};  // may be a text or an array: bytes_of() refuses it
  EXPECT_EQ(text_of(std::as_bytes(std::span(letters))), "abc");
  EXPECT_EQ(std::as_bytes(std::span("text")).size(), 5U);
}

TEST(MutableBytesOf, AreTheSameMemory) {
  std::int64_t number = 0;
  std::vector<std::int32_t> numbers(3);
  std::string text(4, ' ');
  char buffer[8] = {};
  std::array<Pair, 2> pairs{};
  EXPECT_EQ(static_cast<void*>(mutable_bytes_of(number).data()), &number);
  EXPECT_EQ(mutable_bytes_of(number).size(), 8U);
  EXPECT_EQ(static_cast<void*>(mutable_bytes_of(numbers).data()), numbers.data());
  EXPECT_EQ(mutable_bytes_of(numbers).size(), 12U);
  EXPECT_EQ(mutable_bytes_of(std::span(numbers).subspan(1)).size(), 8U);
  EXPECT_EQ(mutable_bytes_of(text).size(), 4U);
  EXPECT_EQ(mutable_bytes_of(buffer).size(), 8U);
  EXPECT_EQ(mutable_bytes_of(pairs).size(), 2 * sizeof(Pair));
}

}  // namespace
}  // namespace weft
