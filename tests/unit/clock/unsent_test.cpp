// What is said of messages that have not left: how many there are, and for how long.
#include "network/unsent.hpp"
#include "conformance/network/stage.hpp"
#include "unit/clock/standing_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::network::test {
namespace {

using weft::test::StandingClock;

TEST(UnsentMessages, are_told_with_their_time) {
  Stage stage(2, {{"network", "tcp"}, {"tcp_authenticate", "no"}});
  ASSERT_EQ(stage.send(0, Stage::to(1, 0), {}), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  auto* const port = dynamic_cast<HoldsUnsent*>(&stage.port(0));
  ASSERT_NE(port, nullptr);
  // Of the messages between two polls all but the first are staged, until the courier comes, which does not
  // wait for this clock.
  std::vector<std::string> lines;
  for (int tries = 0; lines.empty() && tries < 1000; ++tries) {
    StandingClock clock;
    for (std::uint64_t word = 1; word <= 3; ++word)
      static_cast<void>(stage.port(0).send(Stage::to(1, word), {}));
    clock.advance(2'500'000'000);
    port->describe_unsent(lines);
    if (!clock.stood()) lines.clear();
    for (int count = 0; count < 10; ++count) stage.poll();
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("device 0: 2 messages are staged, to leave together, to rank 1, "), 0U) << lines[0];
  EXPECT_NE(lines[0].find(", for 2.500 s"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace weft::network::test
