// Credit that a peer asks for is told when it is due, not when a device has been idle for a while.
#include "unit/clock/standing_clock.hpp"
#include "unit/network/tcp/impostor.hpp"

namespace weft::network::tcp {
namespace {

using session::Kind;
using weft::test::StandingClock;

class CreditWithoutTime : public test::TcpImpostor {
 protected:
  template <class Payload>
  static std::span<const std::byte> bytes_of_one(const Payload& payload) {
    return std::as_bytes(std::span(&payload, 1));
  }
  /// Reads up to a credit for this many messages of class data.
  session::Credit read_credit(std::uint32_t messages) {
    session::Credit credit{};
    do {
      const std::vector<std::byte> bytes = read_record(RecordKind::message);
      session::Header header{};
      if (HasFailure() || bytes.size() < sizeof header) break;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.kind == Kind::credit) std::memcpy(&credit, bytes.data() + sizeof header, sizeof credit);
    } while (credit.taken[0] < messages);
    return credit;
  }
};

TEST_F(CreditWithoutTime, is_told_to_a_peer_that_asks_for_it) {
  exchange_hellos();
  Counter counter;
  const RemoteCompletion handle = victim_.expose(counter, {.id = 5});
  const session::Header header{handle.bits() & ~std::uint64_t{0xffffffff}, 2,          0,
                               weft::detail::kActiveMessageChannel,        Kind::data, 0};
  const StandingClock clock;
  for (std::uint32_t count = 1; count <= 3; ++count) {
    session::Ask ask{};
    ask.sent[0] = count;
    send_message(Kind::ask, bytes_of_one(ask));
    send_record({sizeof header, RecordKind::message, {}, 0}, bytes_of_one(header));
    EXPECT_EQ(read_credit(count).taken[0], count);
  }
  EXPECT_TRUE(clock.stood()) << "the credit came when time went on";
  EXPECT_EQ(counter.value(), 3U);
}

TEST_F(CreditWithoutTime, is_told_when_a_batch_of_it_is_due) {
  Counter counter;
  const RemoteCompletion handle = victim_.expose(counter, {.id = 5});
  const std::uint32_t credits = exchange_hellos().credits;
  const session::Header header{handle.bits() & ~std::uint64_t{0xffffffff}, 2,          0,
                               weft::detail::kActiveMessageChannel,        Kind::data, 0};
  const StandingClock clock;
  for (std::uint32_t count = 0; count < credits; ++count)
    send_record({sizeof header, RecordKind::message, {}, 0}, bytes_of_one(header));
  // A peer that has no credit left waits for no time, either.
  EXPECT_GE(read_credit(credits / 2).taken[0], credits / 2);
  EXPECT_TRUE(clock.stood()) << "the credit came when time went on";
}

// One message is no batch: while the peer does not ask, and no time passes, it is told nothing.
TEST_F(CreditWithoutTime, is_not_told_before_a_batch_of_it_is_due) {
  Counter counter;
  const RemoteCompletion handle = victim_.expose(counter, {.id = 5});
  exchange_hellos();  // which has told of the handle
  const session::Header header{handle.bits() & ~std::uint64_t{0xffffffff}, 2,          0,
                               weft::detail::kActiveMessageChannel,        Kind::data, 0};
  {
    const StandingClock clock;
    send_record({sizeof header, RecordKind::message, {}, 0}, bytes_of_one(header));
    EXPECT_TRUE(weft::test::until([&] { return counter.value() == 1; }, [&] { endpoint_.progress(); }));
    for (int count = 0; count < 1000; ++count) endpoint_.progress();
    std::byte first{};
    const bool has_come = ::recv(socket_.get(), &first, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
    EXPECT_FALSE(has_come && clock.stood());
  }
  EXPECT_EQ(read_credit(1).taken[0], 1U) << "and when it was idle for a while, it is";
}

}  // namespace
}  // namespace weft::network::tcp
