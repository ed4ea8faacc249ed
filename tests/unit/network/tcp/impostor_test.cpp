// What a rank of the job may not do once it has said hello: take credits that nobody has given, return those
// that nobody has taken, write more than it was asked for, answer what has ended.
#include "unit/network/tcp/impostor.hpp"

#include <algorithm>

namespace weft::network::tcp {
namespace {

using session::Kind;
using test::TcpImpostor;

template <class Payload>
std::span<const std::byte> bytes_of_one(const Payload& payload) {
  return std::as_bytes(std::span(&payload, 1));
}

class TcpTrespasser : public TcpImpostor {
 protected:
  // Beyond what travels as a message.
  static constexpr int kSize = 10'000;

  /// The victim gets from memory that this rank has; returns the request's record, whose token it waits for.
  Record asked(std::span<std::byte> to) {
    const RemoteRegion region{2, 0, 1, 0, 1 << 20, 0, 0};
    EXPECT_TRUE(weft::test::until(
        [&] { return endpoint_.post_get(2, region.at(0), to, {.completion = &gets_}).is_posted(); },
        [&] { endpoint_.progress(); }));
    static_cast<void>(read_record(RecordKind::get));
    return record_;
  }
  /// The header of an active message for this handle.
  static session::Header header_to(const RemoteCompletion& handle, Kind kind) {
    return {handle.bits() & ~std::uint64_t{0xffffffff}, 2, 0, weft::detail::kActiveMessageChannel, kind, 0};
  }
  void send_data(std::size_t size, std::uint64_t token) {
    send_record({static_cast<std::uint32_t>(size), RecordKind::data, {}, token},
                std::vector<std::byte>(size, std::byte{9}));
  }

  CompletionQueue gets_;
};

TEST_F(TcpTrespasser, that_returns_credit_for_what_was_not_sent_is_refused) {
  exchange_hellos();
  session::Credit credit{};
  credit.taken[0] = 1;
  send_message(Kind::credit, bytes_of_one(credit));
  expect_refused(1);
  credit = {};
  credit.messages[0] = 1;
  send_message(Kind::credit, bytes_of_one(credit));
  expect_refused(2);
  credit = {};
  credit.handles = 1;
  send_message(Kind::credit, bytes_of_one(credit));
  expect_refused(3);
}

TEST_F(TcpTrespasser, that_says_what_has_another_length_than_its_kind_is_refused) {
  exchange_hellos();
  const std::array<std::byte, 3> few{};
  std::uint64_t refused = 0;
  for (const Kind kind : {Kind::credit, Kind::ask, Kind::handles}) {
    send_message(kind, few);
    expect_refused(++refused);
  }
  send_message(static_cast<Kind>(77), {});
  expect_refused(++refused);
  send_message(Kind::hello, {});
  expect_refused(++refused);
}

TEST_F(TcpTrespasser, whose_hello_is_not_of_this_job_and_version_is_refused_and_a_right_one_is_heard_then) {
  bootstrap_->put("tcp.device.0", *bootstrap_->try_get(1, "tcp.device.0"));  // any address will do
  session::Hello right{session::kMagic, session::kWireVersion, 64, 0, {}};
  bootstrap_->job_id().copy(right.job_id.data(), right.job_id.size());
  std::uint64_t refused = 0;
  const auto expect_refusal_of = [&](auto change) {
    session::Hello wrong = right;
    change(wrong);
    send_message(Kind::hello, bytes_of_one(wrong));
    expect_refused(++refused);
  };
  expect_refusal_of([](session::Hello& hello) { ++hello.magic; });
  expect_refusal_of([](session::Hello& hello) { ++hello.version; });
  expect_refusal_of([](session::Hello& hello) { --hello.version; });
  expect_refusal_of([](session::Hello& hello) { hello.job_id[0] = hello.job_id[0] == 'a' ? 'b' : 'a'; });
  expect_refusal_of([](session::Hello& hello) { hello.credits = 0; });
  expect_refusal_of([](session::Hello& hello) { hello.credits = 0xffffffff; });
  send_message(Kind::hello, bytes_of_one(right));
  static_cast<void>(read_record(RecordKind::message));
  EXPECT_EQ(victim_.counters().refused_messages, refused);
}

TEST_F(TcpTrespasser, that_speaks_before_its_hello_is_refused) {
  send_message(Kind::data, std::vector<std::byte>(8));
  expect_refused(1);
}

TEST_F(TcpTrespasser, that_sends_beyond_its_credit_is_refused_what_is_beyond) {
  const session::Hello hello = exchange_hellos();
  ASSERT_GT(hello.credits, 0U);
  ASSERT_LT(hello.credits, 5000U);
  Counter counter;
  const session::Header header =
      header_to(victim_.expose(counter, {.id = 5}), Kind::urgent);  // of which the fewest may be under way
  // All of them are there when the victim looks: it returns no credit in between.
  const std::uint32_t credits = session::credits_of(TrafficClass::urgent, hello.credits);
  for (std::uint32_t count = 0; count < credits + 5; ++count)
    send_record({sizeof header, RecordKind::message, {}, 0}, bytes_of_one(header));
  EXPECT_TRUE(
      weft::test::until([&] { return counter.value() + victim_.counters().refused_messages == credits + 5; },
                        [&] { endpoint_.progress(); }));
  EXPECT_EQ(counter.value(), credits);
}

// Who waits until all is taken asks for the credit, and need not wait until a batch of it is due.
TEST_F(TcpTrespasser, that_asks_is_told_what_has_been_taken_as_soon_as_that_is) {
  exchange_hellos();
  Counter counter;
  const RemoteCompletion handle = victim_.expose(counter, {.id = 5});
  session::Ask ask{};
  ask.sent[0] = 1;
  send_message(Kind::ask, bytes_of_one(ask));
  session::Header header = header_to(handle, Kind::data);
  send_record({sizeof header, RecordKind::message, {}, 0}, bytes_of_one(header));
  session::Credit credit{};
  do {
    const std::vector<std::byte> answer = read_record(RecordKind::message);
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.kind != Kind::credit || HasFailure()) continue;
    std::memcpy(&credit, answer.data() + sizeof header, sizeof credit);
  } while (credit.taken[0] == 0 && !HasFailure());
  EXPECT_EQ(counter.value(), 1U);
  EXPECT_EQ(credit.taken[0], 1U);
  EXPECT_EQ(credit.messages[0], 1U);
}

// The window follows the time that a message and the credit for it take.
TEST_F(TcpTrespasser, is_asked_for_credit_now_and_then_so_that_the_way_is_timed) {
  const session::HandleChange own{7, 1, 0, 0, 1};
  exchange_hellos(std::as_bytes(std::span(&own, 1)));
  const RemoteCompletion there(7, 1, 0);
  for (int count = 0; count < 64; ++count) {
    EXPECT_TRUE(weft::test::until(
        [&] { return !endpoint_.post_am(2, there, weft::test::payload(1000, 1)).is_retry(); },
        [&] { endpoint_.progress(); }));
    endpoint_.progress();  // so that each takes a credit, and none shares the frame of another
  }
  session::Header header{};
  while (header.kind != Kind::ask && !HasFailure()) {
    const std::vector<std::byte> bytes = read_record(RecordKind::message);
    if (!HasFailure()) std::memcpy(&header, bytes.data(), sizeof header);
  }
}

TEST_F(TcpTrespasser, that_sends_more_than_was_asked_for_is_cut_off_and_writes_nothing_behind_the_buffer) {
  exchange_hellos();
  std::vector<std::byte> memory(3 * kSize, std::byte{1});
  const Record get = asked(std::span(memory).first(kSize));
  send_data(2 * kSize, get.token);
  expect_cut_off();
  EXPECT_EQ(std::count(memory.begin() + kSize, memory.end(), std::byte{1}), 2 * kSize);
}

TEST_F(TcpTrespasser, that_answers_an_access_that_has_ended_is_cut_off) {
  exchange_hellos();
  std::vector<std::byte> memory(kSize, std::byte{1});
  const Record first = asked(memory);
  send_data(kSize, first.token);
  send_record({0, RecordKind::get_completed, {}, first.token}, {});
  Message ended;
  EXPECT_TRUE(weft::test::until([&] { return gets_.pop(ended); }, [&] { endpoint_.progress(); }));
  EXPECT_EQ(ended.outcome(), Outcome::ok);
  EXPECT_EQ(memory, std::vector<std::byte>(kSize, std::byte{9}));
  std::vector<std::byte> other(kSize, std::byte{2});
  const Record second = asked(other);
  EXPECT_NE(second.token, first.token);
  send_data(kSize, first.token);
  expect_cut_off();
  EXPECT_EQ(other, std::vector<std::byte>(kSize, std::byte{2}));
}

TEST_F(TcpTrespasser, that_ends_a_get_before_its_bytes_is_cut_off) {
  exchange_hellos();
  std::vector<std::byte> memory(kSize, std::byte{1});
  const Record get = asked(memory);
  send_data(kSize / 2, get.token);
  send_record({0, RecordKind::get_completed, {}, get.token}, {});
  expect_cut_off();
}

TEST_F(TcpTrespasser, that_ends_a_get_as_if_it_were_a_put_is_cut_off) {
  exchange_hellos();
  std::vector<std::byte> memory(kSize, std::byte{1});
  const Record get = asked(memory);
  send_data(kSize, get.token);
  send_record({0, RecordKind::put_completed, {}, get.token}, {});
  expect_cut_off();
}

TEST_F(TcpTrespasser, that_refuses_a_get_ends_it_as_refused) {
  exchange_hellos();
  std::vector<std::byte> memory(kSize, std::byte{1});
  const Record get = asked(memory);
  send_record({0, RecordKind::refused, {}, get.token}, {});
  Message ended;
  EXPECT_TRUE(weft::test::until([&] { return gets_.pop(ended); }, [&] { endpoint_.progress(); }));
  EXPECT_EQ(ended.outcome(), Outcome::refused);
  EXPECT_EQ(memory, std::vector<std::byte>(kSize, std::byte{1}));
}

}  // namespace
}  // namespace weft::network::tcp
