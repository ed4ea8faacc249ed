// Puts and gets inside handlers, in the backlog, before their signal's object exists, and beyond all limits.
#include <weft/testing/in_process_job.hpp>

#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::matches;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Target;

class OneSidedFlow : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }
  [[nodiscard]] std::vector<AttributeSetting> attributes(std::vector<AttributeSetting> more = {}) const {
    std::vector<AttributeSetting> all = setting().attributes;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(over, OneSidedFlow, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(OneSidedFlow, a_put_with_a_signal_that_is_refused_has_touched_nothing) {
  Ranks<Endpoint> ranks(2, attributes());
  Target target(ranks.runtime(1), setting(), 64);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  constexpr RemoteCompletion kSignal(4, 1, 0);
  Counter arrived;
  EXPECT_EQ(ranks.runtime(1).expose(arrived, {.id = 4}), kSignal);
  // Rank 1 does not progress, so that what leads to it fills up.
  std::vector<std::uint64_t> values(100'000);
  std::uint64_t number = 0;
  Status status = Status::done();
  while (number + 1 < values.size() && status.is_accepted()) {
    ++number;
    values[number] = number;
    status = ranks.endpoint(0).post_put(1, region.at(0), bytes_of(values[number]), {.signal = kSignal});
  }
  ASSERT_TRUE(status.is_retry());
  std::uint64_t there = 0;
  std::memcpy(&there, target.bytes().data(), sizeof there);
  EXPECT_NE(there, number);
  EXPECT_TRUE(ranks.progress_until([&] { return arrived.value() == number - 1; }));
}

TEST_P(OneSidedFlow, handlers_put_back_and_forth) {
  Ranks<Endpoint> ranks(2, attributes());
  Target targets[] = {{ranks.runtime(0), setting(), 20'000}, {ranks.runtime(1), setting(), 20'000}};
  const MappedRegion regions[] = {targets[0].seen_by(ranks.runtime(1), setting()),
                                  targets[1].seen_by(ranks.runtime(0), setting())};
  constexpr int kRounds = 40;
  constexpr RemoteCompletion kSignal(4, 1, 0);
  int rounds = 0;
  Counter ended;
  const std::vector<std::byte> sources[] = {payload(20'000, 0), payload(20'000, 1)};
  const auto put_from = [&](int rank, std::size_t size) {
    // Inside a handler: whatever is refused is kept.
    const Status status = ranks.endpoint(rank).post_put(
        1 - rank, regions[1 - rank].at(0), Bytes(sources[rank]).first(size),
        {.completion = &ended, .signal = kSignal, .tag = static_cast<std::uint32_t>(size)});
    EXPECT_TRUE(status.is_posted());
  };
  const auto on_arrival = [&](int rank, const Message& message) {
    const std::size_t size = message.tag();
    EXPECT_TRUE(matches(targets[rank].bytes().first(size), static_cast<std::uint64_t>(1 - rank)));
    if (++rounds < kRounds) put_from(rank, (size * 7 + 13) % 20'000);
  };
  Handler at_zero([&](Message& message) { on_arrival(0, message); });
  Handler at_one([&](Message& message) { on_arrival(1, message); });
  EXPECT_EQ(ranks.runtime(0).expose(at_zero, {.id = 4}), kSignal);
  EXPECT_EQ(ranks.runtime(1).expose(at_one, {.id = 4}), kSignal);
  ASSERT_TRUE(post_until(
                  [&] {
                    return ranks.endpoint(0).post_put(1, regions[1].at(0), Bytes(sources[0]).first(100),
                                                      {.completion = &ended, .signal = kSignal, .tag = 100});
                  },
                  [&] { ranks.progress(); })
                  .is_posted());
  ASSERT_TRUE(ranks.progress_until([&] { return rounds == kRounds && ended.value() == kRounds; }))
      << rounds << " rounds, " << ended.value() << " ended";
}

TEST_P(OneSidedFlow, what_is_refused_and_kept_ends_once) {
  Ranks<Endpoint> ranks(2, attributes({{"backlog", "64"}, {"backlog_peer", "64"}}));
  Target target(ranks.runtime(1), setting(), 64 * 5000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  Counter ended;
  std::vector<std::vector<std::byte>> buffers;
  int posted = 0;
  for (std::size_t block = 0; block < 64; ++block) {
    buffers.push_back(payload(block * 77, block));
    // Nobody progresses: the backlog fills.
    const Status status =
        ranks.endpoint(0).post_put(1, region.at(block * 5000), buffers.back(),
                                   {.completion = block % 2 == 0 ? &ended : nullptr, .may_retry = false});
    if (!status.is_accepted()) {
      ASSERT_TRUE(post_until(
                      [&] {
                        return ranks.endpoint(0).post_put(
                            1, region.at(block * 5000), buffers.back(),
                            {.completion = block % 2 == 0 ? &ended : nullptr, .may_retry = false});
                      },
                      [&] { ranks.progress(); })
                      .is_accepted());
    }
    ++posted;
  }
  EXPECT_EQ(posted, 64);
  const test::Helpers helpers(ranks, 1, 1);
  ranks.endpoint(0).flush();
  EXPECT_EQ(ended.value(), 32U);
  for (std::size_t block = 0; block < 64; ++block)
    EXPECT_TRUE(matches(target.bytes().subspan(block * 5000, block * 77), block)) << block;
}

TEST_P(OneSidedFlow, a_signal_waits_for_its_object) {
  Ranks<Endpoint> ranks(2, attributes());
  Target target(ranks.runtime(1), setting(), 20'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  constexpr RemoteCompletion kSignal(5, 1, 0);
  Counter arrived;
  Counter ended;
  std::uint64_t expected = 0;
  for (const std::size_t size : {std::size_t{8}, std::size_t{20'000}}) {
    const auto source = payload(size, size);
    Status status = Status::retry(Reason::none);
    for (int round = 0; round < 200 && !status.is_accepted(); ++round) {
      status = ranks.endpoint(0).post_put(1, region.at(0), source,
                                          {.completion = &ended, .signal = kSignal, .tag = 9});
      ranks.progress();
    }
    // Either the post is refused until there is an object, or its signal is kept.
    EXPECT_TRUE(status.is_accepted() || status.reason() == Reason::not_ready) << name_of(status.reason());
    for (int round = 0; round < 200; ++round) ranks.progress();
    EXPECT_EQ(ranks.runtime(1).counters().refused_handles, 0U);
    if (expected == 0) ranks.runtime(1).expose(arrived, {.id = 5});
    if (!status.is_accepted()) {
      ASSERT_TRUE(post_until(
                      [&] {
                        return ranks.endpoint(0).post_put(
                            1, region.at(0), source, {.completion = &ended, .signal = kSignal, .tag = 9});
                      },
                      [&] { ranks.progress(); })
                      .is_posted());
    }
    ++expected;
    ASSERT_TRUE(ranks.progress_until([&] {
      return arrived.value() == expected && ended.value() == expected;
    })) << arrived.value()
        << " " << ended.value();
    EXPECT_TRUE(matches(target.bytes().first(size), size));
  }
}

TEST_P(OneSidedFlow, a_signal_to_a_withdrawn_object_is_refused_and_its_bytes_arrive) {
  Ranks<Endpoint> ranks(2, attributes({{"log", "error"}}));
  Target target(ranks.runtime(1), setting(), 20'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  RemoteCompletion stale;
  {
    Counter gone;
    stale = ranks.runtime(1).expose(gone, {.id = 5});
  }
  std::uint64_t expected = 0;
  for (const std::size_t size : {std::size_t{8}, std::size_t{20'000}}) {
    const auto source = payload(size, size);
    Counter ended;
    ASSERT_TRUE(post_until(
                    [&] {
                      return ranks.endpoint(0).post_put(1, region.at(0), source,
                                                        {.completion = &ended, .signal = stale});
                    },
                    [&] { ranks.progress(); })
                    .is_posted());
    ++expected;
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ended.value() == 1 && ranks.runtime(1).counters().refused_handles == expected; }));
    EXPECT_TRUE(matches(target.bytes().first(size), size));
  }
}

TEST_P(OneSidedFlow, more_gets_than_requests_all_end) {
  Ranks<Endpoint> ranks(2, attributes({{"requests", "16"}}));
  Target target(ranks.runtime(1), setting(), 200'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  test::fill(target.bytes(), 4);
  const std::vector<std::byte> expected(target.bytes().begin(), target.bytes().end());
  std::vector<std::vector<std::byte>> buffers;
  Counter ended;
  for (std::size_t number = 0; number < 100; ++number) {
    buffers.emplace_back(number * 1999);
    ASSERT_TRUE(post_until(
                    [&] {
                      return ranks.endpoint(0).post_get(1, region.at(number), buffers.back(),
                                                        {.completion = &ended});
                    },
                    [&] { ranks.progress(); })
                    .is_posted());
  }
  ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 100; })) << ended.value();
  for (std::size_t number = 0; number < 100; ++number)
    EXPECT_TRUE(std::equal(buffers[number].begin(), buffers[number].end(),
                           expected.begin() + static_cast<std::ptrdiff_t>(number)))
        << number;
}

TEST(OneSidedDevices, take_part_where_the_options_say) {
  for (const char* path : {"auto", "message"}) {
    InProcessJob job(2);
    const AttributeSetting attributes[] = {{"one_sided", path}};
    Runtime zero(job, 0, {.attributes = attributes});
    Runtime one(job, 1, {.attributes = attributes});
    Device from(zero, {.index = 3});
    Device to(one, {.index = 5});
    SerialEndpoint initiator(from);
    SerialEndpoint owner(to);
    std::vector<std::byte> memory(30'000);
    const MemoryRegion region(one, memory);
    const auto step = [&] {
      initiator.progress();
      owner.progress();
    };
    for (const std::size_t size : {std::size_t{8}, std::size_t{30'000}}) {
      const auto source = payload(size, size);
      std::vector<std::byte> back(size);
      Counter ended;
      const AccessOptions options{.completion = &ended, .device = 5};
      ASSERT_TRUE(
          post_until([&] { return initiator.post_put(1, region.remote().at(0), source, options); }, step)
              .is_posted());
      ASSERT_TRUE(test::until([&] { return ended.value() == 1; }, step));
      ASSERT_TRUE(
          post_until([&] { return initiator.post_get(1, region.remote().at(0), back, options); }, step)
              .is_posted());
      ASSERT_TRUE(test::until([&] { return ended.value() == 2; }, step));
      EXPECT_EQ(back, source);
    }
    for (int more = 0; more < 1000; ++more) step();
  }
}

TEST(OneSidedDevices, of_ranks_whose_packets_differ_in_length_do_not_come_about) {
  InProcessJob job(2);
  const AttributeSetting long_packets[] = {{"packet_size", "8K"}};
  const AttributeSetting short_packets[] = {{"packet_size", "4K"}};
  const Runtime zero(job, 0, {.attributes = long_packets});
  std::string why;
  try {
    const Runtime one(job, 1, {.attributes = short_packets});
  } catch (const Error& error) {
    why = error.what();
  }
  for (const char* part :
       {"rank 1", "packet_size (WEFT_PACKET_SIZE) 4K", "rank 0", "packet_size (WEFT_PACKET_SIZE) 8K"})
    EXPECT_NE(why.find(part), std::string::npos) << part << " in " << why;
}

TEST(SoakOneSided, accesses_beyond_4_GiB_are_whole) {
  if (const char* soak = std::getenv("WEFTDEV_NIGHTLY"); soak == nullptr || std::string_view(soak) != "1")
    GTEST_SKIP() << "WEFTDEV_NIGHTLY is not 1";
  for (const char* path : {"auto", "message"}) {
    Ranks<Endpoint> ranks(2, {{"one_sided", path}});
    const std::size_t size = (std::size_t{4} << 30) + 4099;
    MemoryRegion target = MemoryRegion::allocate(ranks.runtime(1), size + 1);
    const MappedRegion region = map(ranks.runtime(0), target.remote());
    Counter ended;
    {
      const auto source = payload(size, 1);
      ASSERT_TRUE(
          post_until(
              [&] { return ranks.endpoint(0).post_put(1, region.at(1), source, {.completion = &ended}); },
              [&] { ranks.progress(); })
              .is_posted());
      while (ended.value() == 0) ranks.progress();
      EXPECT_TRUE(matches(target.bytes().subspan(1), 1));
    }
    std::vector<std::byte> back(size);
    ASSERT_TRUE(
        post_until([&] { return ranks.endpoint(0).post_get(1, region.at(1), back, {.completion = &ended}); },
                   [&] { ranks.progress(); })
            .is_posted());
    while (ended.value() == 1) ranks.progress();
    EXPECT_TRUE(matches(back, 1));
  }
}

TEST_P(OneSidedFlow, is_known_to_have_ended_without_waiting) {
  Ranks<Endpoint> ranks(2, attributes());
  Target target(ranks.runtime(1), setting(), 200'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  Endpoint& endpoint = ranks.endpoint(0);
  EXPECT_TRUE(endpoint.flushed());
  EXPECT_TRUE(endpoint.flushed(1));
  EXPECT_THROW(static_cast<void>(endpoint.flushed(2)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.flushed(-1)), Error);
  for (const std::size_t size : {std::size_t{8}, std::size_t{5000}, std::size_t{200'000}}) {
    const auto bytes = payload(size, size);
    ASSERT_TRUE(
        ranks.progress_until([&] { return endpoint.post_put(1, region.at(0), bytes).is_accepted(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return endpoint.flushed(1); })) << size;
    EXPECT_TRUE(matches(target.bytes().first(size), size)) << "flushed, so it is there";
    EXPECT_TRUE(endpoint.flushed(0)) << "nothing was posted there";
    std::vector<std::byte> got(size);
    ASSERT_TRUE(ranks.progress_until([&] { return endpoint.post_get(1, region.at(0), got).is_accepted(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return endpoint.flushed(); })) << size;
    EXPECT_TRUE(matches(got, size));
  }
}

}  // namespace
}  // namespace weft
