// Puts and gets of several pieces under one completion.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace weft {
namespace {

using test::access_settings;
using test::Ranks;
using test::Target;

class VectoredAccesses : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const test::AccessSetting& setting() const { return access_settings()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(to, VectoredAccesses, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

/// Pieces of several sizes that lie in a region with gaps, in no order.
struct Layout {
  explicit Layout(std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) {
      const std::size_t size = index % 7 == 0 ? 0 : index % 11 == 0 ? 40'000 : 1 + index * 31 % 900;
      offsets.push_back(total);
      sizes.push_back(size);
      total += size + 3;
    }
  }
  std::vector<std::size_t> offsets;
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
};

template <class EndpointType>
void expect_pieces_travel(const test::AccessSetting& setting, std::size_t count) {
  Ranks<EndpointType> ranks(2, setting.attributes);
  ASSERT_TRUE(ranks.meet());
  const Layout layout(count);
  const Target target(ranks.runtime(1), setting, layout.total + 1);
  std::fill(target.bytes().begin(), target.bytes().end(), std::byte{0x5a});
  const MappedRegion seen = target.seen_by(ranks.runtime(0), setting);
  CompletionQueue signalled;
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 7});

  std::vector<std::vector<std::byte>> sources;
  std::vector<std::vector<std::byte>> copies;
  for (std::size_t index = 0; index < count; ++index) {
    sources.push_back(test::payload(layout.sizes[index], index + 1));
    copies.emplace_back(layout.sizes[index]);
  }
  std::vector<PutPiece> puts;
  std::vector<GetPiece> gets;
  for (std::size_t index = count; index-- > 0;) {
    puts.push_back({seen.at(layout.offsets[index]), sources[index]});
    gets.push_back({seen.at(layout.offsets[index]), copies[index]});
  }
  const auto step = [&] { ranks.progress(); };
  const auto expect_end = [&](CompletionQueue& ended, Operation operation, Operation arrived) {
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return ended.pop(message); }));
    EXPECT_EQ(message.operation(), operation);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), 1);
    EXPECT_EQ(message.user_data(), &ended);
    ASSERT_TRUE(ranks.progress_until([&] { return signalled.pop(message); }));
    EXPECT_EQ(message.operation(), arrived);
    EXPECT_EQ(message.tag(), 77U);
    EXPECT_FALSE(ended.pop(message)) << "one completion for all";
    EXPECT_FALSE(signalled.pop(message)) << "one signal for all";
  };
  for (int round = 0; round < 2; ++round) {
    CompletionQueue ended;
    const AccessOptions options{.completion = &ended, .user_data = &ended, .signal = signal, .tag = 77};
    ASSERT_TRUE(
        test::post_until([&] { return ranks.endpoint(0).post_put(1, puts, options); }, step).is_posted());
    expect_end(ended, Operation::put, Operation::put_arrived);
    for (std::size_t index = 0; index < count; ++index) {
      EXPECT_TRUE(
          test::matches(target.bytes().subspan(layout.offsets[index], layout.sizes[index]), index + 1));
      EXPECT_EQ(target.bytes()[layout.offsets[index] + layout.sizes[index]], std::byte{0x5a});
    }
    ASSERT_TRUE(
        test::post_until([&] { return ranks.endpoint(0).post_get(1, gets, options); }, step).is_posted());
    expect_end(ended, Operation::get, Operation::get_arrived);
    for (std::size_t index = 0; index < count; ++index) {
      EXPECT_TRUE(test::matches(copies[index], index + 1)) << index;
      std::fill(copies[index].begin(), copies[index].end(), std::byte{0});
    }
  }
}

TEST_P(VectoredAccesses, of_one_piece_travel) { expect_pieces_travel<Endpoint>(setting(), 1); }
TEST_P(VectoredAccesses, of_some_pieces_travel) { expect_pieces_travel<Endpoint>(setting(), 20); }
TEST_P(VectoredAccesses, of_many_pieces_travel) { expect_pieces_travel<Endpoint>(setting(), 500); }
TEST_P(VectoredAccesses, of_many_pieces_travel_through_serial_endpoints) {
  expect_pieces_travel<SerialEndpoint>(setting(), 500);
}

TEST_P(VectoredAccesses, end_once_with_the_first_error) {
  Ranks<> ranks(2, setting().attributes);
  ASSERT_TRUE(ranks.meet());
  const Target target(ranks.runtime(1), setting(), 10'000);
  const MappedRegion seen = target.seen_by(ranks.runtime(0), setting());
  CompletionQueue signalled;
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 7});
  const auto source = test::payload(3000, 1);
  const std::vector<PutPiece> puts = {{seen.at(0), source}, {seen.at(7001), source}, {seen.at(4000), source}};
  CompletionQueue ended;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(
        test::post_until(
            [&] { return ranks.endpoint(0).post_put(1, puts, {.completion = &ended, .signal = signal}); },
            [&] { ranks.progress(); })
            .is_posted());
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return ended.pop(message); }));
    EXPECT_EQ(message.outcome(), Outcome::refused);
  }
  for (int count = 0; count < 100; ++count) ranks.progress();
  EXPECT_TRUE(signalled.empty()) << "nothing is signalled after a failure";
  EXPECT_TRUE(ended.empty());
}

TEST_P(VectoredAccesses, are_flushed_and_may_go_on_without_their_poster) {
  Ranks<> ranks(2, setting().attributes);
  ASSERT_TRUE(ranks.meet());
  constexpr std::size_t kPieces = 64;
  const Target target(ranks.runtime(1), setting(), kPieces * 2000);
  const MappedRegion seen = target.seen_by(ranks.runtime(0), setting());
  std::vector<std::vector<std::byte>> sources;
  std::vector<PutPiece> puts;
  for (std::size_t index = 0; index < kPieces; ++index) sources.push_back(test::payload(2000, index));
  for (std::size_t index = 0; index < kPieces; ++index)
    puts.push_back({seen.at(index * 2000), sources[index]});
  const Status status = ranks.endpoint(0).post_put(1, puts, {.may_retry = false});
  ASSERT_TRUE(status.is_accepted());
  puts.assign(kPieces, PutPiece());  // the list is the poster's own again
  {
    const test::Helpers helpers(ranks, 1, 1);
    ranks.endpoint(0).flush(1);
  }
  for (std::size_t index = 0; index < kPieces; ++index)
    EXPECT_TRUE(test::matches(target.bytes().subspan(index * 2000, 2000), index)) << index;
}

TEST_P(VectoredAccesses, of_several_threads_all_end) {
  constexpr int kThreads = 4;
  constexpr std::size_t kPieces = 12;
  constexpr int kRounds = 30;
  Ranks<> ranks(2, setting().attributes);
  ASSERT_TRUE(ranks.meet());
  const Target target(ranks.runtime(1), setting(), kThreads * kPieces * 1500);
  const MappedRegion seen = target.seen_by(ranks.runtime(0), setting());
  const test::Helpers helpers(ranks, 1, 1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      Endpoint& endpoint = ranks.endpoint(0);
      std::vector<std::vector<std::byte>> copies(kPieces, std::vector<std::byte>(1500));
      for (int round = 0; round < kRounds; ++round) {
        std::vector<std::vector<std::byte>> sources;
        std::vector<PutPiece> puts;
        std::vector<GetPiece> gets;
        for (std::size_t index = 0; index < kPieces; ++index) {
          const std::size_t place = static_cast<std::size_t>(thread) * kPieces + index;
          sources.push_back(test::payload(1500, place + static_cast<std::size_t>(round) * 1000));
          gets.push_back({seen.at(place * 1500), copies[index]});
        }
        for (std::size_t index = 0; index < kPieces; ++index)
          puts.push_back({gets[index].from, sources[index]});
        Synchronizer ended;
        const auto run = [&](const auto& post) {
          const Status status = test::post_until(post, [&] { endpoint.progress(); });
          if (status.is_posted()) static_cast<void>(endpoint.wait(ended));
          if (!status.is_accepted()) ++wrong;
          ended.reset();
        };
        const AccessOptions options{.completion = &ended};
        run([&] { return endpoint.post_put(1, puts, options); });
        run([&] { return endpoint.post_get(1, gets, options); });
        if (copies != sources) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(VectoredAccess, with_one_wrong_piece_starts_nothing) {
  Ranks<> ranks(2);
  ASSERT_TRUE(ranks.meet());
  const Target target(ranks.runtime(1), access_settings()[0], 100);
  const auto source = test::payload(10, 1);
  const RemoteRegion region = target.remote();
  const std::vector<PutPiece> no_region = {{region.at(0), source}, {RemoteAddress(), source}};
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_put(1, no_region)), Error);
  const std::vector<PutPiece> good = {{region.at(0), source}};
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_put(0, good)), Error) << "rank 0 does not own it";
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_put(2, good)), Error);
  EXPECT_EQ(target.bytes()[0], std::byte{0});
  CompletionQueue signalled;
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 7});
  const std::vector<PutPiece> none;
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_put(1, none, {.signal = signal})), Error);
  EXPECT_TRUE(ranks.endpoint(0).post_put(1, none).is_done());
  Counter ended;
  EXPECT_TRUE(ranks.endpoint(0).post_put(1, none, {.completion = &ended}).is_posted());
  EXPECT_EQ(ended.value(), 1U);
}

TEST(VectoredAccess, ends_with_peer_failed_when_the_owner_has_left) {
  Ranks<> ranks(2, {{"one_sided", "message"}});
  ASSERT_TRUE(ranks.meet());
  auto target = std::make_unique<Target>(ranks.runtime(1), access_settings()[0], 100);
  const RemoteRegion region = target->remote();
  target.reset();
  ranks.leave(1);
  const auto source = test::payload(10, 1);
  const std::vector<PutPiece> puts(5, PutPiece{region.at(0), source});
  Synchronizer ended;
  ASSERT_TRUE(test::post_until([&] { return ranks.endpoint(0).post_put(1, puts, {.completion = &ended}); },
                               [&] { ranks.endpoint(0).progress(); })
                  .is_posted());
  ASSERT_TRUE(test::until([&] { return ended.ready(); }, [&] { ranks.endpoint(0).progress(); }));
  EXPECT_EQ(ended.messages()[0].outcome(), Outcome::peer_failed);
}

}  // namespace
}  // namespace weft
