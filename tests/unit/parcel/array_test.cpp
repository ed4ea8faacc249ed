#include <weft/parcel/archive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "parcel/ports/weft/packed_message.hpp"

namespace weft::parcel {
namespace {

Array<int> numbers(std::size_t count) {
  Array<int> array(count);
  std::iota(array.begin(), array.end(), 1);
  return array;
}

TEST(Array, IsMovedAndNeverCopied) {
  static_assert(!std::is_copy_constructible_v<Array<int>> &&
                std::is_nothrow_move_constructible_v<Array<int>>);
  Array<int> first = numbers(5000);
  const int* const elements = first.data();
  Array<int> second = std::move(first);
  EXPECT_EQ(second.data(), elements);
  EXPECT_TRUE(first.empty());  // NOLINT: what is left is an empty array
  first = std::move(second);
  EXPECT_EQ(first.data(), elements);
  EXPECT_EQ(first.size(), 5000U);
  EXPECT_EQ(first.back(), 5000);
  const Array<int> third = first.copy();
  EXPECT_NE(third.data(), first.data());
  EXPECT_EQ(third, first);
  EXPECT_EQ(Array<int>(std::vector<int>{1, 2, 3}), numbers(3));
  EXPECT_EQ(Array<int>(4, 7)[3], 7);
  EXPECT_EQ(Array<int>().data(), nullptr);
}

TEST(Array, IsAlignedForAnyElement) {
  for (const std::size_t count : {1, 100, 511, 512, 513, 70'000, 5'000'000})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Array<char>(count).data()) % 64, 0U) << count;
  EXPECT_THROW(Array<double>(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_THROW(Array<char>(SIZE_MAX - 10), std::bad_alloc);
}

TEST(Array, TakesItsMemoryFromAPool) {
  std::set<const void*> places;
  for (int count = 0; count < 1000; ++count) places.insert(Array<char>(16384).data());
  EXPECT_EQ(places.size(), 1U);
}

TEST(Array, MayEndInAnotherThread) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Array<int>> all;
    for (int count = 0; count < 200; ++count) all.push_back(numbers(4096));
    std::thread([given = std::move(all)] {
      for (const Array<int>& each : given) ASSERT_EQ(each.back(), 4096);
    }).join();
  }
  // Also in the last moments of a thread.
  std::thread([] { thread_local Array<int> late = numbers(4096); }).join();
}

struct Tile {
  std::string name;
  Array<double> values;
};
template <class Archive>
void serialize(Archive& archive, Tile& tile) {
  archive(tile.name, tile.values);
}
using Nested =
    std::tuple<std::map<std::string, std::vector<Array<int>>>, std::optional<Array<char>>, Tile, Array<int>>;

Nested nested(std::size_t count) {
  Nested all;
  for (std::size_t index = 0; index < 3; ++index) std::get<0>(all)["some"].push_back(numbers(count + index));
  std::get<1>(all).emplace(count, 'x');
  std::get<2>(all) = {"tile", Array<double>(count, 0.5)};
  return all;
}
void expect_nested(const Nested& all, std::size_t count) {
  ASSERT_EQ(std::get<0>(all).at("some").size(), 3U);
  for (std::size_t index = 0; index < 3; ++index)
    EXPECT_EQ(std::get<0>(all).at("some")[index], numbers(count + index));
  EXPECT_EQ(*std::get<1>(all), Array<char>(count, 'x'));
  EXPECT_EQ(std::get<2>(all).values, Array<double>(count, 0.5));
  EXPECT_TRUE(std::get<3>(all).empty());
}

/// The message that a writer makes, packed as it travels over weft.
struct Packed {
  explicit Packed(Writer& writer) {
    OutgoingMessage message;
    message.head.append(writer.written());
    message.chunks = writer.chunks();
    bytes = Array<std::byte>(packed_size(message));
    pack(message, bytes.data());
  }
  Array<std::byte> bytes;
};

/// Lends arrays the memory of a message, or refuses.
struct Lender final : detail::ChunkKeeper {
  struct Lent final : detail::ArrayBlock {
    int* count = nullptr;
  };
  detail::ArrayBlock* keep(const std::byte* at) override {
    if (refuses) return nullptr;
    auto* const lent = new Lent;
    lent->data = const_cast<std::byte*>(at);
    lent->release = [](detail::ArrayBlock& block) noexcept {
      --*static_cast<Lent&>(block).count;
      delete &static_cast<Lent&>(block);
    };
    lent->count = &count;
    ++count;
    return lent;
  }
  bool refuses = false;
  int count = 0;
};

class ArraysInMessages : public testing::TestWithParam<std::size_t> {};

TEST_P(ArraysInMessages, LandWhereTheReaderSays) {
  Writer writer(8192);
  const Nested before = nested(GetParam());
  writer(before);
  std::vector<std::uint64_t> sizes;
  for (const Bytes chunk : writer.chunks()) sizes.push_back(chunk.size());
  Reader reader(writer.written(), sizes);
  Nested after;
  reader(after);
  reader.finish();
  ASSERT_EQ(reader.landings().size(), sizes.size());
  for (std::size_t index = 0; index < sizes.size(); ++index)
    std::memcpy(reader.landings()[index].data(), writer.chunks()[index].data(), sizes[index]);
  expect_nested(after, GetParam());
}

TEST_P(ArraysInMessages, StayWhereTheyHaveComeOrAreCopied) {
  Writer writer(8192);
  const Nested before = nested(GetParam());
  const std::vector<double> plain(GetParam(), 1.5);
  writer(before, plain);
  const Packed packed(writer);
  for (const bool refuses : {false, true}) {
    IncomingMessage arrived;
    ASSERT_EQ(unpack(Bytes(packed.bytes.data(), packed.bytes.size()), arrived), nullptr);
    Lender lender;
    lender.refuses = refuses;
    {
      Reader reader(arrived.head, arrived.chunk_sizes, arrived.chunk_addresses, &lender);
      Nested after;
      std::vector<double> plain_after;
      reader(after, plain_after);
      reader.finish();
      for (const MutableBytes landing : reader.landings()) EXPECT_TRUE(landing.empty());
      expect_nested(after, GetParam());
      EXPECT_EQ(plain_after, plain);
      const std::size_t vectors = plain.size() * sizeof(double) >= 8192 ? 1 : 0;
      EXPECT_EQ(lender.count, refuses ? 0 : static_cast<int>(writer.chunks().size() - vectors));
    }
    EXPECT_EQ(lender.count, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, ArraysInMessages, testing::Values(0, 1, 7, 2048, 3001, 20'000));

TEST(Array, IsNeverLongerThanItsParcel) {
  Writer writer(8192);
  writer(numbers(100));
  std::vector<std::byte> bytes(writer.written().begin(), writer.written().end());
  for (const std::uint64_t length :
       {std::uint64_t{101}, std::uint64_t{1} << 62, (std::uint64_t{1} << 63) | 100}) {
    std::memcpy(bytes.data(), &length, sizeof length);
    Reader reader{Bytes(bytes)};
    Array<int> array;
    EXPECT_THROW(reader(array), MalformedParcel) << length;
  }
}

TEST(PackedMessage, IsRefusedWhateverNumberInItIsWrong) {
  Writer writer(64);
  writer(numbers(100), numbers(33));
  const Packed packed(writer);
  for (std::size_t word = 0; word < 4; ++word)
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63},
                                      std::uint64_t{1} << 31, UINT64_MAX / 8, UINT64_MAX - 7, UINT64_MAX}) {
      // A head that is too short by less than what aligns the chunk behind it is told from its parcels.
      if (word == 3 && value < 64) continue;
      Array<std::byte> bytes = packed.bytes.copy();
      std::memcpy(bytes.data() + word * sizeof value, &value, sizeof value);
      IncomingMessage arrived;
      EXPECT_NE(unpack(Bytes(bytes.data(), bytes.size()), arrived), nullptr) << word << " " << value;
    }
  for (std::size_t size = 0; size < packed.bytes.size(); ++size) {
    IncomingMessage arrived;
    EXPECT_NE(unpack(Bytes(packed.bytes.data(), size), arrived), nullptr) << size;
  }
}

}  // namespace
}  // namespace weft::parcel
