// Accesses that must not happen: beyond the region, stale, forged, to a rank that has left; and what throws.
#include "support/errors.hpp"
#include "support/one_sided.hpp"

#include <weft/binding/library_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::error_of;
using test::expect_names;
using test::Helpers;
using test::matches;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Target;

constexpr std::size_t kRegionBytes = 10'000;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

std::vector<AttributeSetting> silent(std::vector<AttributeSetting> attributes) {
  attributes.push_back({"log", "error"});
  attributes.push_back({"drain_timeout", "1"});
  return attributes;
}

class RefusedAccess : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }

  /// The outcome of an access that is told about by completion.
  Outcome outcome_of(bool is_put, const RemoteAddress& place, std::size_t size,
                     RemoteCompletion signal = {}) {
    std::vector<std::byte> bytes(size, std::byte{0x77});
    test::Recorder ended;
    const AccessOptions options{.completion = &ended, .signal = signal};
    const auto post = [&] {
      return is_put ? ranks_->endpoint(0).post_put(1, place, bytes, options)
                    : ranks_->endpoint(0).post_get(1, place, bytes, options);
    };
    EXPECT_TRUE(post_until(post, [&] { ranks_->progress(); }).is_posted());
    EXPECT_TRUE(ranks_->progress_until([&] { return !ended.messages.empty(); }));
    for (int more = 0; more < 50; ++more) ranks_->progress();
    EXPECT_EQ(ended.messages.size(), 1U);
    const Outcome outcome = ended.messages.empty() ? Outcome::cancelled : ended.messages[0].outcome();
    if (outcome == Outcome::refused && !is_put) {
      EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0x77}; }))
          << "a refused get wrote into its buffer";
    }
    return outcome;
  }

  void SetUp() override {
    ranks_ = std::make_unique<Ranks<Endpoint>>(2, silent(setting().attributes));
    target_ = std::make_unique<Target>(ranks_->runtime(1), setting(), kRegionBytes);
    region_ = target_->seen_by(ranks_->runtime(0), setting());
    test::fill(target_->bytes(), 1);
  }
  void TearDown() override {
    target_.reset();
    ranks_.reset();
  }

  std::unique_ptr<Ranks<Endpoint>> ranks_;
  std::unique_ptr<Target> target_;
  MappedRegion region_;
};

INSTANTIATE_TEST_SUITE_P(over, RefusedAccess, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(RefusedAccess, beyond_the_region_touches_nothing) {
  struct Case {
    std::uint64_t offset;
    std::size_t size;
    Outcome outcome;
  };
  for (const bool is_put : {true, false}) {
    for (const Case& access :
         {Case{kRegionBytes, 0, Outcome::ok}, Case{0, 0, Outcome::ok},
          Case{kRegionBytes + 1, 0, Outcome::refused}, Case{kRegionBytes, 1, Outcome::refused},
          Case{kRegionBytes - 7, 8, Outcome::refused}, Case{1, kRegionBytes, Outcome::refused},
          Case{0, 5 * kRegionBytes, Outcome::refused}, Case{kMost, 0, Outcome::refused},
          Case{kMost, 1, Outcome::refused}, Case{kMost - 7, 8, Outcome::refused},
          Case{kMost - kRegionBytes, 2 * kRegionBytes, Outcome::refused}})
      EXPECT_EQ(outcome_of(is_put, region_.at(access.offset), access.size), access.outcome)
          << (is_put ? "put of " : "get of ") << access.size << " bytes at " << access.offset;
  }
}

TEST_P(RefusedAccess, that_is_partly_outside_changes_no_byte) {
  for (const std::size_t size : {std::size_t{101}, std::size_t{3000}, std::size_t{30'000}})
    EXPECT_EQ(outcome_of(true, region_.at(kRegionBytes - 100), size), Outcome::refused);
  EXPECT_TRUE(matches(target_->bytes(), 1));
}

TEST_P(RefusedAccess, with_a_forged_key_reaches_nothing) {
  // A window would be what the owner's table says, whatever the key claims.
  const RemoteRegion real = target_->remote();
  std::vector<RemoteRegion> forged(7, real);
  forged[0].bytes = kRegionBytes * 1000;
  forged[1].generation += 1;
  forged[2].generation = 0xffffffff;
  forged[3].index += 1;
  forged[4].index = 0xffffffff;
  forged[5].index = 4095;
  forged[6].address += 4096;
  forged[6].bytes = kMost;
  for (const RemoteRegion& region : forged)
    for (const bool is_put : {true, false})
      for (const std::size_t size : {std::size_t{8}, std::size_t{9000}}) {
        const bool longer_only = &region == &forged[0] || &region == &forged[6];
        const std::uint64_t offset = longer_only ? kRegionBytes : 0;
        EXPECT_EQ(outcome_of(is_put, region.at(offset), size), Outcome::refused)
            << &region - forged.data() << (is_put ? " put " : " get ") << size;
        const MappedRegion mapped = map(ranks_->runtime(0), region);
        EXPECT_EQ(outcome_of(is_put, mapped.at(offset), size), Outcome::refused);
      }
  EXPECT_TRUE(matches(target_->bytes(), 1));
}

TEST_P(RefusedAccess, to_a_released_region_does_not_reach_its_successor) {
  const MappedRegion stale = region_;
  Counter signalled;
  const RemoteCompletion signal = ranks_->runtime(1).expose(signalled, {.id = 3});
  EXPECT_EQ(outcome_of(true, stale.at(0), 8), Outcome::ok);
  target_->release();
  for (const bool is_put : {true, false})
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{9000}})
      EXPECT_EQ(outcome_of(is_put, stale.at(0), size, signal), Outcome::refused) << is_put << " " << size;
  Target next(ranks_->runtime(1), setting(), kRegionBytes);
  test::fill(next.bytes(), 2);
  EXPECT_EQ(next.remote().index, stale.region().index) << "the index is used again";
  EXPECT_NE(next.remote().generation, stale.region().generation);
  for (const bool is_put : {true, false})
    EXPECT_EQ(outcome_of(is_put, stale.at(0), 8, signal), Outcome::refused);
  EXPECT_FALSE(map(ranks_->runtime(0), stale.region()).is_direct());
  EXPECT_TRUE(matches(next.bytes(), 2));
  EXPECT_EQ(signalled.value(), 0U) << "nothing is signalled after a refused access";
  EXPECT_EQ(outcome_of(true, next.seen_by(ranks_->runtime(0), setting()).at(0), 8), Outcome::ok);
}

TEST_P(RefusedAccess, without_completion_object_is_counted) {
  const auto bytes = payload(8, 1);
  std::vector<std::byte> back(8);
  EXPECT_TRUE(post_until([&] { return ranks_->endpoint(0).post_put(1, region_.at(kRegionBytes), bytes); },
                         [&] { ranks_->progress(); })
                  .is_accepted());
  EXPECT_TRUE(post_until([&] { return ranks_->endpoint(0).post_get(1, region_.at(kRegionBytes), back); },
                         [&] { ranks_->progress(); })
                  .is_accepted());
  EXPECT_TRUE(ranks_->progress_until([&] { return ranks_->runtime(0).counters().refused_accesses == 2; }));
}

TEST_P(RefusedAccess, to_a_rank_that_has_left_ends_as_peer_failed) {
  EXPECT_EQ(outcome_of(true, region_.at(0), 8), Outcome::ok);
  target_.reset();
  ranks_->leave(1);
  for (const bool is_put : {true, false})
    for (const std::size_t size : {std::size_t{8}, std::size_t{9000}}) {
      const Outcome outcome = outcome_of(is_put, region_.at(0), size);
      EXPECT_EQ(outcome, Outcome::peer_failed) << name_of(outcome);
    }
  const std::uint64_t dropped = ranks_->runtime(0).counters().dropped_sends;
  EXPECT_TRUE(post_until([&] { return ranks_->endpoint(0).post_put(1, region_.at(0), payload(8, 1)); },
                         [&] { ranks_->progress(); })
                  .is_accepted());
  ranks_->endpoint(0).flush(1);
  ranks_->endpoint(0).flush();
  EXPECT_EQ(ranks_->runtime(0).counters().dropped_sends, dropped + 1);
}

TEST_P(RefusedAccess, ends_when_the_rank_leaves_in_the_middle) {
  // The owner does not progress: what goes by messages is under way when it leaves.
  std::vector<std::byte> bytes(kRegionBytes);
  Counter ended;
  int posted = 0;
  for (int count = 0; count < 8; ++count)
    for (const bool is_put : {true, false}) {
      const AccessOptions options{.completion = &ended};
      const Status status = is_put ? ranks_->endpoint(0).post_put(1, region_.at(0), bytes, options)
                                   : ranks_->endpoint(0).post_get(1, region_.at(0), bytes, options);
      posted += status.is_posted() ? 1 : 0;
    }
  target_.reset();
  ranks_->leave(1);
  EXPECT_TRUE(ranks_->progress_until([&] { return ended.value() == static_cast<std::uint64_t>(posted); }))
      << ended.value() << " of " << posted;
  ranks_->endpoint(0).flush();
}

TEST(BadAccess, arguments_are_named) {
  Ranks<Endpoint> ranks(3);
  MemoryRegion mine = MemoryRegion::allocate(ranks.runtime(1), 100);
  const RemoteRegion region = mine.remote();
  std::vector<std::byte> bytes(8);
  Endpoint& endpoint = ranks.endpoint(0);
  for (const int peer : {-1, 3, 1'000'000}) {
    const std::string number = std::to_string(peer);
    expect_names(error_of([&] { static_cast<void>(endpoint.post_put(peer, region.at(0), bytes)); }),
                 {"post_put", "peer", number.c_str(), "0 to 2"});
    expect_names(error_of([&] { static_cast<void>(endpoint.get(peer, region.at(0), bytes)); }),
                 {"peer", number.c_str()});
    expect_names(error_of([&] { endpoint.flush(peer); }), {"flush", "peer", number.c_str()});
  }
  expect_names(error_of([&] { static_cast<void>(endpoint.post_put(2, region.at(0), bytes)); }),
               {"post_put", "rank 1", "peer 2"});
  const MappedRegion mapped = map(ranks.runtime(0), region);
  expect_names(error_of([&] { static_cast<void>(endpoint.post_get(2, mapped.at(0), bytes)); }),
               {"post_get", "rank 1", "peer 2"});
  expect_names(error_of([&] { static_cast<void>(endpoint.post_get(1, RemoteRegion().at(0), bytes)); }),
               {"post_get", "names nothing"});
  expect_names(error_of([&] { static_cast<void>(map(ranks.runtime(0), RemoteRegion())); }), {"map", "-1"});
}

TEST(Regions, of_libraries_take_none_of_the_programs) {
  Ranks<Endpoint> ranks(2, {{"regions_max", "1"}});
  std::vector<MemoryRegion> of_libraries;
  std::vector<std::byte> memory(10);
  {
    const LibraryMemory apart;
    for (int count = 0; count < 128; ++count)
      of_libraries.push_back(MemoryRegion::allocate(ranks.runtime(0), 10));
    expect_names(error_of([&] { static_cast<void>(MemoryRegion::allocate(ranks.runtime(0), 10)); }),
                 {"128 regions", "libraries"});
  }
  const MemoryRegion of_program(ranks.runtime(0), memory);
  expect_names(error_of([&] { MemoryRegion(ranks.runtime(0), memory); }), {"regions_max", "all 1 "});
  const std::uint64_t value = 7;
  for (const RemoteRegion& region : {of_libraries.back().remote(), of_program.remote()}) {
    Counter done;
    Status status = Status::retry(Reason::none);
    ASSERT_TRUE(ranks.progress_until([&] {
      status = ranks.endpoint(1).post_put(0, region.at(0), bytes_of(value), {.completion = &done});
      return status.is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until([&] { return status.is_done() || done.value() == 1; }));
  }
  EXPECT_EQ(std::memcmp(of_libraries.back().bytes().data(), &value, sizeof value), 0);
  EXPECT_EQ(std::memcmp(memory.data(), &value, sizeof value), 0);
}

TEST(Regions, are_as_many_as_the_attribute_says) {
  Ranks<Endpoint> ranks(1, {{"regions_max", "3"}});
  std::vector<MemoryRegion> regions;
  std::vector<std::byte> memory(10);
  for (int count = 0; count < 3; ++count) regions.emplace_back(ranks.runtime(0), memory);
  expect_names(error_of([&] { MemoryRegion(ranks.runtime(0), memory); }), {"regions_max", "3"});
  expect_names(error_of([&] { static_cast<void>(MemoryRegion::allocate(ranks.runtime(0), 10)); }),
               {"regions_max"});
  regions.pop_back();
  regions.push_back(MemoryRegion::allocate(ranks.runtime(0), 10));
  MemoryRegion moved = std::move(regions.back());
  EXPECT_FALSE(regions.back());
  EXPECT_TRUE(moved);
  EXPECT_EQ(moved.size(), 10U);
  EXPECT_EQ(moved.remote().size(), 10U);
  for (const std::byte value : moved.bytes()) EXPECT_EQ(value, std::byte{});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(moved.bytes().data()) % 4096, 0U);
}

TEST(Regions, of_no_bytes_take_accesses_of_no_bytes) {
  Ranks<Endpoint> ranks(2, {{"log", "error"}});
  const Helpers helpers(ranks, 1, 1);
  for (const bool allocated : {true, false}) {
    MemoryRegion region = allocated ? MemoryRegion::allocate(ranks.runtime(1), 0)
                                    : MemoryRegion(ranks.runtime(1), std::span<std::byte>());
    const MappedRegion mapped = map(ranks.runtime(0), region.remote());
    EXPECT_EQ(ranks.endpoint(0).put(1, mapped.at(0), {}), Outcome::ok);
    EXPECT_EQ(ranks.endpoint(0).get(1, mapped.at(0), {}), Outcome::ok);
    EXPECT_EQ(ranks.endpoint(0).put(1, mapped.at(0), payload(1, 1)), Outcome::refused);
  }
}

}  // namespace
}  // namespace weft
