// What every network promises about memory of peers. A network may answer unsupported, and then the core
// sends messages; it may do so for all accesses of a region, or for those of few bytes.
#include "conformance/network/stage.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace weft::network::test {
namespace {

/// A region of rank 1 that rank 0 accesses.
class Memory : public ::testing::TestWithParam<bool> {  // allocated by the network, or the user's own
 protected:
  static constexpr std::size_t kSize = 100'000;
  static constexpr std::size_t kMany = 20'000;  // which are not few for any network
  static constexpr RegionName kName{3, 9};

  Memory() {
    // Contact first, as the operations have it.
    EXPECT_EQ(stage_.send(0, Stage::to(1, 1), {}), SendResult::sent);
    EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 1; }));
    Network& owner = *stage_[1].network;
    if (GetParam()) {
      memory_ = {owner.allocate_memory(kName, kSize), kSize};
      EXPECT_TRUE(
          std::all_of(memory_.begin(), memory_.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    } else {
      own_.resize(kSize);
      memory_ = own_;
    }
    keys_ = owner.register_memory(kName, memory_, GetParam());
  }
  ~Memory() override { release(); }
  void release() {
    if (!memory_.empty()) stage_[1].network->release_memory(kName, memory_, GetParam());
    memory_ = {};
  }
  [[nodiscard]] RemoteMemory at(std::uint64_t offset) const { return {kName, keys_, kSize, offset, 0}; }

  /// Performs an access to its end; nothing: the network leaves it to the core.
  template <class Access>
  std::optional<Outcome> perform(const Access& access) {
    const std::uint64_t token = ++token_;
    AccessResult result = AccessResult::no_slot;
    EXPECT_TRUE(stage_.until([&] {
      result = access(token);
      return result != AccessResult::no_slot && result != AccessResult::lock_contended &&
             result != AccessResult::not_ready;
    }));
    switch (result) {
      case AccessResult::done:
        return Outcome::ok;
      case AccessResult::refused:
        return Outcome::refused;
      case AccessResult::unsupported:
        return std::nullopt;
      case AccessResult::posted:
        EXPECT_TRUE(stage_.until([&] { return stage_.notes(0).ended.contains(token); }));
        return stage_.notes(0).ended[token];
      default:
        ADD_FAILURE() << "answer " << static_cast<int>(result);
        return Outcome::peer_failed;
    }
  }
  std::optional<Outcome> put(const RemoteMemory& to, Bytes from, const std::uint64_t* immediate = nullptr) {
    return perform([&](std::uint64_t token) { return stage_.port(0).put(1, to, from, immediate, token); });
  }
  std::optional<Outcome> get(const RemoteMemory& from, std::span<std::byte> to) {
    return perform([&](std::uint64_t token) { return stage_.port(0).get(1, from, to, token); });
  }

  Stage stage_{2};
  std::vector<std::byte> own_;
  std::span<std::byte> memory_;
  RegionKeys keys_;
  std::uint64_t token_ = 0;
};

TEST_P(Memory, is_written_and_read_where_the_access_says) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4097}, kSize - 3}) {
    SCOPED_TRACE(size);
    const auto bytes = weft::test::payload(size, size + 1);
    const std::optional<Outcome> outcome = put(at(3), bytes);
    if (!outcome && size == kSize - 3) GTEST_SKIP() << "this network leaves such regions to messages";
    if (!outcome) continue;
    ASSERT_EQ(outcome, Outcome::ok);
    EXPECT_TRUE(weft::test::matches(memory_.subspan(3, size), size + 1));
    std::vector<std::byte> back(size);
    ASSERT_EQ(get(at(3), back), Outcome::ok);
    EXPECT_EQ(back, bytes);
  }
}

TEST_P(Memory, beyond_its_end_is_refused_and_untouched) {
  std::vector<std::byte> bytes(kMany, std::byte{0xee});
  const auto before = std::vector<std::byte>(memory_.begin(), memory_.end());
  for (const std::uint64_t offset :
       {std::uint64_t{kSize - kMany + 1}, std::uint64_t{kSize + 1}, ~std::uint64_t{0} - 10}) {
    SCOPED_TRACE(offset);
    const std::optional<Outcome> outcome = put(at(offset), bytes);
    if (!outcome) GTEST_SKIP() << "this network leaves such regions to messages";
    EXPECT_EQ(outcome, Outcome::refused);
    EXPECT_EQ(get(at(offset), bytes), Outcome::refused);
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), memory_.begin()));
}

TEST_P(Memory, that_was_released_is_refused) {
  std::vector<std::byte> bytes(kMany);
  if (!put(at(0), bytes)) GTEST_SKIP() << "this network leaves such regions to messages";
  release();
  EXPECT_EQ(put(at(0), bytes), Outcome::refused);
  EXPECT_EQ(get(at(0), bytes), Outcome::refused);
}

TEST_P(Memory, goes_on_when_another_region_was_released) {
  const auto bytes = weft::test::payload(kMany, 2);
  if (!put(at(0), bytes)) GTEST_SKIP() << "this network leaves such regions to messages";
  const RemoteMemory released = at(0);
  const std::span<std::byte> memory = std::exchange(memory_, {});
  Network& owner = *stage_[1].network;
  owner.release_memory(kName, memory, GetParam());
  constexpr RegionName kOther{4, 1};
  std::vector<std::byte> own(GetParam() ? 0 : kSize);
  const std::span<std::byte> other =
      GetParam() ? std::span<std::byte>(owner.allocate_memory(kOther, kSize), kSize) : own;
  const RemoteMemory open{kOther, owner.register_memory(kOther, other, GetParam()), kSize, 7, 0};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(put(released, bytes), Outcome::refused);
    EXPECT_EQ(put(open, weft::test::payload(kMany, 3)), Outcome::ok);
    EXPECT_TRUE(weft::test::matches(other.subspan(7, kMany), 3));
  }
  owner.release_memory(kOther, other, GetParam());
}

TEST_P(Memory, announces_immediates_after_the_bytes) {
  const std::size_t width = stage_.port(0).peer_capabilities(1).immediate_bytes;
  if (width == 0) GTEST_SKIP() << "this network has no immediates";
  const std::uint64_t immediate = width == 4 ? 0x89abcdef : 0x0123456789abcdef;
  const auto bytes = weft::test::payload(kMany, 4);
  bool was_there = false;
  stage_.notes(1).on_immediate = [&] { was_there = weft::test::matches(memory_.subspan(10, kMany), 4); };
  const std::optional<Outcome> outcome = put(at(10), bytes, &immediate);
  if (!outcome) GTEST_SKIP() << "this network leaves such regions to messages";
  ASSERT_EQ(outcome, Outcome::ok);
  ASSERT_TRUE(stage_.until([&] { return !stage_.notes(1).immediates.empty(); }));
  EXPECT_TRUE(was_there);
  EXPECT_EQ(stage_.notes(1).immediates, (std::vector<Notes::Immediate>{{0, immediate, width}}));
}

TEST_P(Memory, that_is_located_is_the_same_memory) {
  std::byte* place = nullptr;
  const auto locate = [&](std::uint64_t offset, std::size_t size) {
    AccessResult result = AccessResult::not_ready;
    EXPECT_TRUE(stage_.until([&] {
      result = stage_.port(0).locate(1, at(offset), size, place);
      return result != AccessResult::not_ready && result != AccessResult::lock_contended;
    }));
    return result;
  };
  const AccessResult first = locate(8, 8);
  if (first == AccessResult::unsupported) GTEST_SKIP() << "this network maps no such regions";
  ASSERT_EQ(first, AccessResult::done);
  const auto bytes = weft::test::payload(8, 6);
  std::copy(bytes.begin(), bytes.end(), place);
  EXPECT_TRUE(weft::test::matches(memory_.subspan(8, 8), 6));
  EXPECT_EQ(locate(kSize - 8, 8), AccessResult::done);
  EXPECT_EQ(locate(kSize - 7, 8), AccessResult::refused);
  release();
  EXPECT_EQ(locate(8, 8), AccessResult::refused);
}

TEST_P(Memory, that_is_mapped_is_the_same_memory) {
  std::optional<detail::DirectWindow> window;
  for (int round = 0; round < 100 && !window; ++round) {
    window = stage_[0].network->map_memory(1, at(0));
    stage_.poll();
  }
  if (!window) GTEST_SKIP() << "this network does not map such regions";
  ASSERT_EQ(window->size, kSize);
  weft::test::fill(memory_, 8);
  EXPECT_TRUE(weft::test::matches({window->base, window->size}, 8));
  EXPECT_TRUE(window->allows(0, kSize));
  EXPECT_TRUE(window->allows(kSize, 0));
  EXPECT_FALSE(window->allows(1, kSize));
  EXPECT_FALSE(window->allows(~std::uint64_t{0}, 2));
  release();
  EXPECT_FALSE(window->allows(0, 1));
}

INSTANTIATE_TEST_SUITE_P(of, Memory, ::testing::Bool(),
                         [](const auto& at) { return at.param ? "the_network" : "the_user"; });

TEST(Reads, copy_from_the_peers_memory_where_they_are_offered) {
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), {}), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  if (!stage.port(1).peer_capabilities(0).can_read) GTEST_SKIP() << "this network does not read";
  const auto bytes = weft::test::payload(70'000, 2);
  std::vector<std::byte> copy(bytes.size());
  ASSERT_TRUE(stage.port(1).read(0, reinterpret_cast<std::uint64_t>(bytes.data()), copy));
  EXPECT_EQ(copy, bytes);
}

}  // namespace
}  // namespace weft::network::test
