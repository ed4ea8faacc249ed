// Many threads put, get, flush, map and release at once.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::matches;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Target;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRoundsOfThreads = 20;
#else
constexpr std::uint64_t kRoundsOfThreads = 100;
#endif
constexpr std::size_t kBlock = 20'000;

class OneSidedThreads : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(over, OneSidedThreads, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

/// Puts blocks of many sizes and gets them back.
template <class EndpointType>
void put_and_get(EndpointType& endpoint, const MappedRegion& region, std::uint64_t place, std::uint64_t seed,
                 std::uint8_t device) {
  for (std::uint64_t round = 0; round < kRoundsOfThreads; ++round) {
    const std::size_t size = (round * 977 + seed * 131) % kBlock;
    const auto source = payload(size, seed + round);
    ASSERT_EQ(endpoint.put(1, region.at(place), source, {.device = device}), Outcome::ok);
    std::vector<std::byte> back(size);
    ASSERT_EQ(endpoint.get(1, region.at(place), back, {.device = device}), Outcome::ok);
    ASSERT_EQ(back, source) << size;
  }
}

TEST_P(OneSidedThreads, share_one_device) {
  for (const std::uint64_t count : {2U, 8U}) {
    Ranks<Endpoint> ranks(2, setting().attributes);
    Target target(ranks.runtime(1), setting(), count * kBlock);
    const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
    const test::Helpers helpers(ranks, 1, 1);
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < count; ++thread)
      threads.emplace_back(
          [&, thread] { put_and_get(ranks.endpoint(0), region, thread * kBlock, thread * 1000, 0); });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_P(OneSidedThreads, have_a_device_each) {
  constexpr std::uint64_t kThreads = 4;
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), kThreads * kBlock);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  std::atomic<std::uint64_t> ready{0};
  std::atomic<std::uint64_t> finished{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const auto index = static_cast<std::int32_t>(thread + 1);
      Device here(ranks.runtime(0), {.index = index});
      Device there(ranks.runtime(1), {.index = index});
      SerialEndpoint initiator(here);
      std::atomic<bool> stop{false};
      std::thread owner([&] {
        SerialEndpoint endpoint(there);
        while (!stop) {
          endpoint.progress();
          std::this_thread::yield();
        }
      });
      ++ready;
      put_and_get(initiator, region, thread * kBlock, thread * 1000, static_cast<std::uint8_t>(index));
      ++finished;
      stop = true;
      owner.join();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kThreads);
}

TEST_P(OneSidedThreads, see_the_data_of_every_signal) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  constexpr std::uint64_t kThreads = 3;
  Target target(ranks.runtime(1), setting(), kThreads * kBlock);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  // A block belongs to its initiator until the signal, then to the owner until it is taken.
  std::atomic<std::uint64_t> taken[kThreads] = {};
  std::atomic<std::uint64_t> wrong{0};
  Handler handler([&](Message& message) {
    const std::uint64_t thread = message.tag() % kThreads;
    const std::uint64_t round = message.tag() / kThreads;
    const std::size_t size = round * 977 % kBlock;
    if (!matches(target.bytes().subspan(thread * kBlock, size), message.tag())) ++wrong;
    test::fill(target.bytes().subspan(thread * kBlock, kBlock), 12345);
    taken[thread].store(round + 1, std::memory_order_release);
  });
  const RemoteCompletion signal = ranks.runtime(1).expose(handler, {.id = 6});
  const test::Helpers helpers(ranks, 1, 1);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      Endpoint& endpoint = ranks.endpoint(0);
      for (std::uint64_t round = 0; round < kRoundsOfThreads; ++round) {
        const auto tag = static_cast<std::uint32_t>(round * kThreads + thread);
        const auto source = payload(round * 977 % kBlock, tag);
        EXPECT_EQ(endpoint.put(1, region.at(thread * kBlock), source, {.signal = signal, .tag = tag}),
                  Outcome::ok);
        ASSERT_TRUE(test::until([&] { return taken[thread].load(std::memory_order_acquire) == round + 1; },
                                [&] { endpoint.progress(); }));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

TEST_P(OneSidedThreads, flush_while_others_post) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  constexpr std::uint64_t kThreads = 3;
  Target target(ranks.runtime(1), setting(), kThreads * kBlock);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  const test::Helpers helpers(ranks, 1, 1);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      Endpoint& endpoint = ranks.endpoint(0);
      for (std::uint64_t round = 0; round < kRoundsOfThreads; ++round) {
        const std::size_t size = round * 977 % kBlock;
        const auto source = payload(size, round);
        ASSERT_TRUE(post_until([&] { return endpoint.post_put(1, region.at(thread * kBlock), source); },
                               [&] { endpoint.progress(); })
                        .is_accepted());
        endpoint.flush(1);
        // Flushed is visible: whoever reads the memory afterwards finds it.
        std::vector<std::byte> back(size);
        ASSERT_EQ(endpoint.get(1, region.at(thread * kBlock), back), Outcome::ok);
        ASSERT_EQ(back, source);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(OneSidedThreads, access_a_region_that_is_released_again_and_again) {
  std::vector<AttributeSetting> attributes = setting().attributes;
  attributes.push_back({"log", "error"});
  Ranks<Endpoint> ranks(2, attributes);
  std::mutex mutex;  // guards the key, as a message would hand it over
  RemoteRegion current;
  {
    Target first(ranks.runtime(1), setting(), kBlock);
    current = first.remote();
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> ok{0};
  std::atomic<std::uint64_t> refused{0};
  const test::Helpers helpers(ranks, 1, 1);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      Endpoint& endpoint = ranks.endpoint(0);
      const auto source = payload(kBlock, 8);
      std::vector<std::byte> back(kBlock);
      for (std::size_t round = 0; !stop; ++round) {
        RemoteRegion region;
        {
          const std::lock_guard lock(mutex);
          region = current;
        }
        const MappedRegion mapped =
            setting().mapped ? map(ranks.runtime(0), region) : MappedRegion(region, nullptr);
        const std::size_t size = (round * 619) % kBlock;
        // Everybody writes and reads bytes of its own: what races is the release.
        const std::size_t share = kBlock / 3;
        const std::uint64_t place = static_cast<std::uint64_t>(thread) * share;
        const std::size_t count = size % share;
        const Outcome outcome = round % 2 == 0
                                    ? endpoint.put(1, mapped.at(place), Bytes(source).first(count))
                                    : endpoint.get(1, mapped.at(place), std::span(back).first(count));
        EXPECT_TRUE(outcome == Outcome::ok || outcome == Outcome::refused) << name_of(outcome);
        ++(outcome == Outcome::ok ? ok : refused);
      }
    });
  for (int use = 0; use < 25; ++use) {
    auto target = std::make_unique<Target>(ranks.runtime(1), setting(), kBlock);
    {
      const std::lock_guard lock(mutex);
      current = target->remote();
    }
    for (int step = 0; step < 20; ++step) std::this_thread::yield();
    target->release();
    // Nobody accesses it any more: this thread may.
    target.reset();
  }
  Target last(ranks.runtime(1), setting(), kBlock);
  {
    const std::lock_guard lock(mutex);
    current = last.remote();
  }
  const std::uint64_t before = ok;
  EXPECT_TRUE(test::until([&] { return ok > before + 10; }, [] {}));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
