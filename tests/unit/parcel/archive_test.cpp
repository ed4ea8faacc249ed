#include <weft/parcel/archive.hpp>

#include <gtest/gtest.h>

#include "parcel/runtime/parcel_batch.hpp"

#include <array>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace weft::parcel {
namespace {

struct Particle {
  std::array<double, 3> position{};
  std::string name;
  std::vector<int> neighbours;
  friend bool operator==(const Particle&, const Particle&) = default;
};
template <class Archive>
void serialize(Archive& archive, Particle& particle) {
  archive(particle.position, particle.name, particle.neighbours);
}

using Everything =
    std::tuple<int, std::string, std::vector<Particle>, std::map<std::string, std::vector<double>>,
               std::optional<Particle>, std::variant<std::monostate, int, std::string>, std::set<int>,
               std::list<std::string>, std::deque<int>, std::vector<bool>,
               std::unordered_map<int, std::string>, std::pair<char, double>>;

Everything example(std::size_t length) {
  return {7,
          std::string(length, 's'),
          {{{1, 2, 3}, "a", std::vector<int>(length, 4)}, {{}, "", {}}},
          {{"long", std::vector<double>(length, 0.5)}, {"short", {1.5}}},
          Particle{{4, 5, 6}, "optional", {1}},
          std::string("variant"),
          {1, 2, 3},
          {"x", std::string(length, 'y')},
          {4, 5},
          {true, false, true},
          {{1, "one"}, {2, std::string(length, 'z')}},
          {'c', 2.5}};
}

/// Copies the chunks to where they belong.
void land(const std::vector<Bytes>& chunks, const std::vector<MutableBytes>& landings) {
  ASSERT_EQ(chunks.size(), landings.size());
  for (std::size_t index = 0; index < chunks.size(); ++index) {
    ASSERT_EQ(chunks[index].size(), landings[index].size());
    std::copy(chunks[index].begin(), chunks[index].end(), landings[index].begin());
  }
}

std::vector<std::uint64_t> sizes_of(const std::vector<Bytes>& chunks) {
  std::vector<std::uint64_t> sizes;
  for (const Bytes chunk : chunks) sizes.push_back(chunk.size());
  return sizes;
}

TEST(Archive, ReadsWhatItHasWritten) {
  for (const std::size_t length : {0, 3, 8191, 8192, 20000}) {
    const Everything before = example(length);
    Writer writer(8192);
    writer(before);
    const auto sizes = sizes_of(writer.chunks());
    Reader reader(writer.written(), sizes);
    Everything after;
    reader(after);
    reader.finish();
    land(writer.chunks(), reader.landings());
    EXPECT_EQ(before, after) << length;
  }
}

TEST(Archive, MakesChunksOfArraysFromTheThresholdOn) {
  Writer writer(8192);
  writer(std::vector<char>(8191), std::vector<char>(8192), std::vector<double>(1024));
  EXPECT_EQ(sizes_of(writer.chunks()), (std::vector<std::uint64_t>{8192, 8192}));
}

TEST(Archive, CopiesKeysOfAnyLength) {
  Writer writer(16);
  writer(std::map<std::string, int>{{std::string(100, 'k'), 1}},
         std::set<std::string>{std::string(100, 's')});
  EXPECT_TRUE(writer.chunks().empty());
}

TEST(Archive, DoesNotCopyAChunkWhenItsContainerMoves) {
  std::vector<double> values(2000, 1.0);
  const void* const data = values.data();
  Writer writer(8192);
  writer(values);
  ASSERT_EQ(writer.chunks().size(), 1U);
  EXPECT_EQ(static_cast<const void*>(writer.chunks()[0].data()), data);
}

TEST(Archive, RefusesEveryTruncation) {
  Writer writer(8192);
  writer(example(10));
  const Bytes whole = writer.written();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Reader reader(whole.first(size));
    Everything after;
    EXPECT_THROW(
        {
          reader(after);
          reader.finish();
        },
        MalformedParcel)
        << size;
  }
}

TEST(Archive, SurvivesChangedBytes) {
  Writer writer(64);
  writer(example(40));
  const auto sizes = sizes_of(writer.chunks());
  const Bytes whole = writer.written();
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> changed(whole.begin(), whole.end());
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t change = 0; change < changes; ++change)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    Reader reader(changed, sizes);
    Everything after;
    try {
      reader(after);
      reader.finish();
    } catch (const MalformedParcel&) {
    }
  }
}

TEST(Messages, AnnounceNoMoreThanTheMemoryOfThisHost) {
  const std::vector<std::uint64_t> fine{1 << 20, 0, 4096};
  check_memory_for(fine);
  const std::vector<std::uint64_t> one{std::uint64_t{1} << 60};
  EXPECT_THROW(check_memory_for(one), MalformedParcel);
  const std::vector<std::uint64_t> together(8, std::uint64_t{1} << 61);  // their sum is 0
  EXPECT_THROW(check_memory_for(together), MalformedParcel);
}

TEST(Archive, BelievesNoLengthThatIsMoreThanThereIs) {
  const std::uint64_t length = std::uint64_t{1} << 60;
  const auto bytes = std::as_bytes(std::span(&length, 1));
  std::vector<double> numbers;
  EXPECT_THROW(Reader{bytes}(numbers), MalformedParcel);
  std::vector<std::string> texts;
  EXPECT_THROW(Reader{bytes}(texts), MalformedParcel);
  const std::uint64_t chunk = length | detail::kChunkMark;
  const std::uint64_t chunk_size = 16;
  Reader reader(std::as_bytes(std::span(&chunk, 1)), std::span(&chunk_size, 1));
  EXPECT_THROW(reader(numbers), MalformedParcel);
}

}  // namespace
}  // namespace weft::parcel
