// A rank that was away while it looked for a peer, because its host is slow or its program computed, does not
// take its own absence for the peer's.
#include "unit/clock/tcp/listening_peer.hpp"

namespace weft::network::tcp {
namespace {

using weft::test::StandingClock;

/// Rank 2 listens, and closes whatever is accepted, as a rank does that has lost patience with a connection
/// over which nothing came.
class AbsentSearch : public test::ListeningPeer {
 protected:
  bool is_called() { return bool(accept()); }
};

TEST_F(AbsentSearch, goes_on_where_it_was) {
  ASSERT_TRUE(weft::test::until([&] { return is_called(); }, [&] { endpoint_.progress(); }));
  StandingClock clock;
  for (int count = 0; count < 1000; ++count) endpoint_.progress();
  clock.advance(600 * kSecond);
  EXPECT_TRUE(goes_on_until([&] { return is_called() || is_given_up(); }, clock, kSecond / 10));
  EXPECT_FALSE(is_given_up()) << "it was this rank that did not answer";
}

TEST_F(AbsentSearch, still_ends_where_nobody_listens) {
  listener_.close();
  StandingClock clock;
  EXPECT_TRUE(goes_on_until([&] { return is_given_up(); }, clock, kSecond / 2));
}

}  // namespace
}  // namespace weft::network::tcp
