// Signals of puts some of which are refused, all under way together: each that was put is told once, no
// other.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Target;

constexpr std::size_t kBytesEach = 40'000;
constexpr std::uint32_t kSignalRounds = 40;
constexpr std::uint32_t kPutsEach = 8;  // of a round, all under way together; one of them is refused

class OneSidedSignals : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(over, OneSidedSignals, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(OneSidedSignals, come_once_for_each_put_that_was_not_refused) {
  const AccessSetting& setting = access_settings()[GetParam()];
  Ranks<Endpoint> ranks(2, setting.attributes);
  const Target target(ranks.runtime(1), setting, kBytesEach);
  Target released(ranks.runtime(1), setting, kBytesEach);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting);
  const MappedRegion stale = released.seen_by(ranks.runtime(0), setting);
  released.release();
  std::map<std::uint32_t, int> told;  // by tag
  Handler handler([&](Message& message) { ++told[static_cast<std::uint32_t>(message.tag())]; });
  const RemoteCompletion signal = ranks.runtime(1).expose(handler, {.id = 7});
  const auto source = payload(kBytesEach, 1);
  for (std::uint32_t round = 0; round < kSignalRounds; ++round) {
    test::Recorder ended;
    for (std::uint32_t put = 0; put < kPutsEach; ++put) {
      const bool is_stale = put == round % kPutsEach;
      const AccessOptions options{.completion = &ended, .signal = signal, .tag = round * kPutsEach + put};
      ASSERT_TRUE(post_until(
                      [&] {
                        return ranks.endpoint(0).post_put(1, (is_stale ? stale : region).at(0), source,
                                                          options);
                      },
                      [&] { ranks.progress(); })
                      .is_posted());
    }
    ASSERT_TRUE(ranks.progress_until([&] { return ended.messages.size() == kPutsEach; })) << round;
    std::size_t refused = 0;
    for (const Message& message : ended.messages) refused += message.outcome() == Outcome::refused ? 1 : 0;
    EXPECT_EQ(refused, 1U) << round;
    const std::size_t expected = (round + 1) * (kPutsEach - 1);
    ASSERT_TRUE(ranks.progress_until([&] { return told.size() >= expected; })) << round;
  }
  for (int more = 0; more < 200; ++more) ranks.progress();
  EXPECT_EQ(told.size(), kSignalRounds * (kPutsEach - 1));
  for (const auto& [tag, times] : told) {
    EXPECT_EQ(times, 1) << tag;
    EXPECT_NE(tag % kPutsEach, tag / kPutsEach % kPutsEach) << "a put that was refused has signalled";
  }
}

}  // namespace
}  // namespace weft
