// Puts and gets of all sizes, to every kind of memory, with every way to hear of their end.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::Helpers;
using test::matches;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Recorder;
using test::Target;

constexpr std::size_t kGuard = 64;  // bytes on both sides that must not change

std::vector<std::size_t> sizes_for(const Runtime& runtime) {
  std::vector<std::size_t> sizes = test::border_sizes(runtime);
  const std::size_t packet = test::size_attribute(runtime, "packet_size");
  // Around what a message has room for behind its header, and several pieces.
  for (const std::size_t border : {std::size_t{32}, std::size_t{64}, std::size_t{512}, packet, packet + 16,
                                   3 * packet, 3 * (packet + 16)})
    for (const std::size_t header : {0, 16, 32})
      for (const std::size_t step : {0, 1, 2})
        if (border + 1 >= header + step) sizes.push_back(border + 1 - header - step);
  sizes.push_back((std::size_t{1} << 20) + 3);
  return sizes;
}

class OneSided : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(over, OneSided, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

template <class EndpointType>
void expect_all_sizes_move(const AccessSetting& setting) {
  Ranks<EndpointType> ranks(2, setting.attributes);
  const std::vector<std::size_t> sizes = sizes_for(ranks.runtime(0));
  const std::size_t largest = *std::max_element(sizes.begin(), sizes.end());
  Target target(ranks.runtime(1), setting, largest + 2 * kGuard);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting);
  EXPECT_EQ(region.size(), largest + 2 * kGuard);
  const auto step = [&] { ranks.progress(); };
  int here = 0;
  for (const std::size_t size : sizes) {
    test::fill(target.bytes(), 99);
    const auto before = std::vector<std::byte>(target.bytes().begin(), target.bytes().end());
    const auto source = payload(size, size + 1);
    Recorder put;
    ASSERT_TRUE(post_until(
                    [&] {
                      return ranks.endpoint(0).post_put(1, region.at(kGuard), source,
                                                        {.completion = &put, .user_data = &here});
                    },
                    step)
                    .is_posted())
        << size;
    ASSERT_TRUE(ranks.progress_until([&] { return put.messages.size() == 1; })) << size;
    EXPECT_EQ(put.messages[0].operation(), Operation::put);
    EXPECT_EQ(put.messages[0].outcome(), Outcome::ok) << size;
    EXPECT_EQ(put.messages[0].peer(), 1);
    EXPECT_EQ(put.messages[0].user_data(), &here);
    EXPECT_EQ(put.messages[0].size(), size);
    EXPECT_TRUE(matches(target.bytes().subspan(kGuard, size), size + 1)) << size << " bytes differ";
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + kGuard, target.bytes().begin())) << size;
    EXPECT_TRUE(std::equal(before.begin() + kGuard + static_cast<std::ptrdiff_t>(size), before.end(),
                           target.bytes().begin() + kGuard + static_cast<std::ptrdiff_t>(size)))
        << size << ": bytes beyond the put changed";

    std::vector<std::byte> back(size + 2 * kGuard);
    Recorder got;
    ASSERT_TRUE(post_until(
                    [&] {
                      return ranks.endpoint(0).post_get(1, region.at(kGuard),
                                                        std::span(back).subspan(kGuard, size),
                                                        {.completion = &got, .user_data = &here});
                    },
                    step)
                    .is_posted())
        << size;
    ASSERT_TRUE(ranks.progress_until([&] { return got.messages.size() == 1; })) << size;
    EXPECT_EQ(got.messages[0].operation(), Operation::get);
    EXPECT_EQ(got.messages[0].outcome(), Outcome::ok);
    EXPECT_EQ(got.messages[0].data(), back.data() + kGuard);
    EXPECT_TRUE(matches(std::span(back).subspan(kGuard, size), size + 1)) << size << " bytes differ";
    for (std::size_t place = 0; place < kGuard; ++place)
      EXPECT_TRUE(back[place] == std::byte{} && back[back.size() - 1 - place] == std::byte{}) << size;
  }
}

TEST_P(OneSided, accesses_of_every_size_are_whole_through_endpoints) {
  expect_all_sizes_move<Endpoint>(setting());
}

TEST_P(OneSided, accesses_of_every_size_are_whole_through_serial_endpoints) {
  expect_all_sizes_move<SerialEndpoint>(setting());
}

TEST_P(OneSided, a_put_signals_the_owner_when_its_bytes_are_visible) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  const std::vector<std::size_t> sizes = sizes_for(ranks.runtime(0));
  Target target(ranks.runtime(1), setting(), (std::size_t{1} << 20) + 3);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  std::size_t size = 0;
  std::uint32_t tag = 0;
  int signals = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.operation(), Operation::put_arrived);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), tag);
    EXPECT_EQ(message.size(), 0U);
    EXPECT_TRUE(matches(target.bytes().first(size), tag)) << size << " bytes were not there with the signal";
    ++signals;
  });
  const RemoteCompletion signal = ranks.runtime(1).expose(handler, {.id = 7});
  int expected = 0;
  Counter ended;
  for (const std::size_t next : sizes)
    for (const std::uint32_t high : {0U, 0xabcd0000U}) {  // tags that fit into an immediate, and others
      size = next;
      tag = high + static_cast<std::uint32_t>(++expected);
      const auto source = payload(size, tag);
      ASSERT_TRUE(post_until(
                      [&] {
                        return ranks.endpoint(0).post_put(
                            1, region.at(0), source, {.completion = &ended, .signal = signal, .tag = tag});
                      },
                      [&] { ranks.progress(); })
                      .is_posted());
      ASSERT_TRUE(ranks.progress_until([&] {
        return signals == expected && ended.value() == static_cast<std::uint64_t>(expected);
      })) << size;
    }
}

TEST_P(OneSided, a_put_that_nobody_here_waits_for_signals_the_owner_as_well) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 8192);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  std::uint64_t signals = 0;
  std::uint64_t size = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.operation(), Operation::put_arrived);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), size);
    EXPECT_TRUE(matches(target.bytes().first(size), size)) << size << " bytes were not there with the signal";
    ++signals;
  });
  const RemoteCompletion signal = ranks.runtime(1).expose(handler, {.id = 7});
  // More of each than a lane has room for, and sizes on both sides of the one up to which a put is repeated.
  for (const std::size_t next : {0, 8, 48, 49, 4096, 4097}) {
    size = next;
    const auto source = payload(size, size);
    const std::uint64_t expected = signals + 2000;
    for (int count = 0; count < 2000; ++count)
      ASSERT_FALSE(post_until(
                       [&] {
                         return ranks.endpoint(0).post_put(
                             1, region.at(0), source,
                             {.signal = signal, .tag = static_cast<std::uint32_t>(size)});
                       },
                       [&] { ranks.progress(); })
                       .is_retry());
    ASSERT_TRUE(ranks.progress_until([&] { return signals == expected; })) << size << ": " << signals;
  }
}

TEST_P(OneSided, a_get_signals_the_owner_when_its_bytes_have_been_read) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 100'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  Recorder arrived;
  const RemoteCompletion signal = ranks.runtime(1).expose(arrived, {.id = 7});
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{3000}, std::size_t{100'000}}) {
    test::fill(target.bytes(), size);
    std::vector<std::byte> back(size);
    Counter ended;
    arrived.messages.clear();
    ASSERT_TRUE(post_until(
                    [&] {
                      return ranks.endpoint(0).post_get(
                          1, region.at(0), back, {.completion = &ended, .signal = signal, .tag = 0x12345678});
                    },
                    [&] { ranks.progress(); })
                    .is_posted());
    ASSERT_TRUE(ranks.progress_until([&] {
      if (!arrived.messages.empty()) test::fill(target.bytes(), 1234);  // the owner may go on
      return arrived.messages.size() == 1 && ended.value() == 1;
    }));
    EXPECT_EQ(arrived.messages[0].operation(), Operation::get_arrived);
    EXPECT_EQ(arrived.messages[0].peer(), 0);
    EXPECT_EQ(arrived.messages[0].tag(), 0x12345678U);
    EXPECT_TRUE(matches(back, size)) << size;
  }
}

TEST_P(OneSided, every_completion_object_hears_of_the_end_once) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 20'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  int handled = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.size(), 20'000U);
    ++handled;
  });
  Counter counter;
  CompletionQueue queue;
  Recorder recorder;
  const auto source = payload(20'000, 5);
  std::vector<std::byte> back(20'000);
  for (Completion* completion : std::initializer_list<Completion*>{&handler, &counter, &queue, &recorder})
    for (const bool is_put : {true, false})
      ASSERT_TRUE(post_until(
                      [&] {
                        const AccessOptions options{.completion = completion};
                        return is_put ? ranks.endpoint(0).post_put(1, region.at(0), source, options)
                                      : ranks.endpoint(0).post_get(1, region.at(0), back, options);
                      },
                      [&] { ranks.progress(); })
                      .is_posted());
  int popped = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    Message message;
    if (queue.pop(message)) ++popped;
    return popped == 2 && handled == 2 && counter.value() == 2 && recorder.messages.size() == 2;
  }));
  for (int more = 0; more < 1000; ++more) ranks.progress();
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(counter.value(), 2U);
  EXPECT_EQ(recorder.messages.size(), 2U);
  EXPECT_TRUE(matches(target.bytes(), 5));
}

TEST_P(OneSided, a_flush_makes_puts_without_completion_visible) {
  Ranks<Endpoint> ranks(3, setting().attributes);
  Target one(ranks.runtime(1), setting(), 64 * 3000);
  Target two(ranks.runtime(2), setting(), 64 * 3000);
  const MappedRegion regions[] = {one.seen_by(ranks.runtime(0), setting()),
                                  two.seen_by(ranks.runtime(0), setting())};
  std::vector<std::vector<std::byte>> sources;
  {
    const Helpers helpers(ranks, 1, 2);
    for (std::size_t block = 0; block < 64; ++block) {
      sources.push_back(payload(block * 47, block + 1));
      for (const int peer : {1, 2})
        ASSERT_TRUE(post_until(
                        [&] {
                          return ranks.endpoint(0).post_put(peer, regions[peer - 1].at(block * 3000),
                                                            sources.back());
                        },
                        [&] { ranks.endpoint(0).progress(); })
                        .is_accepted());
    }
    ranks.endpoint(0).flush(1);
    ranks.endpoint(0).flush();
    ranks.endpoint(0).flush(2);
  }
  for (std::size_t block = 0; block < 64; ++block)
    for (const Target* target : {&one, &two})
      EXPECT_TRUE(matches(target->bytes().subspan(block * 3000, block * 47), block + 1)) << block;
}

TEST_P(OneSided, blocking_calls_return_when_the_access_has_ended) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 200'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  const Helpers helpers(ranks, 1, 1);
  Counter ended;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{5000}, std::size_t{199'999}}) {
    const auto source = payload(size, size);
    EXPECT_EQ(ranks.endpoint(0).put(1, region.at(1), source), Outcome::ok);
    std::vector<std::byte> back(size);
    EXPECT_EQ(ranks.endpoint(0).get(1, region.at(1), back, {.completion = &ended}), Outcome::ok);
    EXPECT_EQ(back, source) << size;
  }
  EXPECT_EQ(ended.value(), 4U) << "a completion object that is passed is signalled as well";
  EXPECT_EQ(ranks.endpoint(0).put(1, region.at(200'000), payload(1, 1)), Outcome::refused);
  EXPECT_EQ(ranks.runtime(0).counters().refused_accesses, 1U);
}

TEST_P(OneSided, a_rank_reaches_its_own_memory) {
  Ranks<Endpoint> ranks(1, setting().attributes);
  Target target(ranks.runtime(0), setting(), 50'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  const auto source = payload(50'000, 3);
  EXPECT_EQ(ranks.endpoint(0).put(0, region.at(0), source), Outcome::ok);
  EXPECT_TRUE(matches(target.bytes(), 3));
  std::vector<std::byte> back(50'000);
  EXPECT_EQ(ranks.endpoint(0).get(0, region.at(0), back), Outcome::ok);
  EXPECT_EQ(back, source);
}

TEST_P(OneSided, all_ranks_reach_all_ranks) {
  for (const int count : {2, 5, 8}) {
    Ranks<Endpoint> ranks(count, setting().attributes);
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::unique_ptr<Target>> targets;
    for (int rank = 0; rank < count; ++rank)
      targets.push_back(std::make_unique<Target>(ranks.runtime(rank), setting(), size * 2000));
    std::vector<std::vector<std::byte>> sources;
    Counter ended;
    Counter signalled;
    std::vector<RemoteCompletion> signals;
    for (int from = 0; from < count; ++from)
      sources.push_back(payload(2000, static_cast<std::uint64_t>(from)));
    std::vector<Counter> arrived(size);
    for (int rank = 0; rank < count; ++rank)
      signals.push_back(ranks.runtime(rank).expose(arrived[static_cast<std::size_t>(rank)], {.id = 9}));
    for (int from = 0; from < count; ++from)
      for (int to = 0; to < count; ++to) {
        const MappedRegion region =
            targets[static_cast<std::size_t>(to)]->seen_by(ranks.runtime(from), setting());
        const auto place = static_cast<std::uint64_t>(from) * 2000;
        ASSERT_TRUE(post_until(
                        [&] {
                          return ranks.endpoint(from).post_put(
                              to, region.at(place), sources[static_cast<std::size_t>(from)],
                              {.completion = &ended, .signal = signals[static_cast<std::size_t>(to)]});
                        },
                        [&] { ranks.progress(); })
                        .is_posted());
      }
    ASSERT_TRUE(ranks.progress_until([&] {
      bool all = ended.value() == size * size;
      for (const Counter& counter : arrived) all = all && counter.value() == size;
      return all;
    }));
    for (const auto& target : targets)
      for (std::size_t from = 0; from < size; ++from)
        EXPECT_TRUE(matches(target->bytes().subspan(from * 2000, 2000), from)) << from << " of " << count;
  }
}

}  // namespace
}  // namespace weft
