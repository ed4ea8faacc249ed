// The greeting of a rank that is called, as the calling rank sees it: in parts, changed, and cut off.
#include "unit/clock/tcp/listening_peer.hpp"

namespace weft::network::tcp::test {
namespace {

using weft::test::StandingClock;

class CalledPeer : public ListeningPeer {
 protected:
  CalledPeer() : ListeningPeer("warn") { testing::internal::CaptureStderr(); }
  ~CalledPeer() override { static_cast<void>(testing::internal::GetCapturedStderr()); }

  /// The caller looks, and a moment passes: it does not look at all times.
  void progress() {
    endpoint_.progress();
    if (clock_ != nullptr) clock_->advance(10'000);
  }
  void await(const base::Descriptor& socket, void* to, std::size_t size) {
    ASSERT_TRUE(until(
        [&] { return ::recv(socket.get(), to, size, MSG_DONTWAIT | MSG_PEEK) == static_cast<ssize_t>(size); },
        [&] { progress(); }));
    ASSERT_EQ(::recv(socket.get(), to, size, 0), static_cast<ssize_t>(size));
  }
  /// Byte by byte, and the caller looks in between.
  template <class Object>
  void send_in_parts(const base::Descriptor& socket, const Object& object) {
    for (const std::byte& each : std::as_bytes(std::span(&object, 1))) {
      ASSERT_EQ(::send(socket.get(), &each, 1, MSG_NOSIGNAL), 1);
      for (int count = 0; count < 20; ++count) progress();
    }
  }
  /// Takes a call up to the introduction.
  base::Descriptor take_call() {
    base::Descriptor socket;
    EXPECT_TRUE(until([&] { return bool(socket = accept()); }, [&] { endpoint_.progress(); }));
    await(socket, &introduction_, sizeof introduction_);
    return socket;
  }
  /// And then up to the proof; the answer is what it returns.
  Answer prove(const base::Descriptor& socket, Verdict verdict) {
    challenge_ = make_challenge(bootstrap_->secret(), introduction_, Protection::none);
    send_in_parts(socket, challenge_);
    Proof proof{};
    await(socket, &proof, sizeof proof);
    EXPECT_TRUE(are_equal(proof, proof_of_connector(bootstrap_->secret(), introduction_, challenge_)));
    return make_answer(verdict, keys_of_listener(bootstrap_->secret(), introduction_, challenge_));
  }
  /// The caller ends the connection, and, when nobody listens any more, tells this of the address.
  void expect_fault(const base::Descriptor& socket, const std::string& why) {
    EXPECT_TRUE(until(
        [&] {
          std::array<std::byte, 512> dropped;
          const ssize_t got = ::recv(socket.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
          return got == 0 || (got < 0 && errno != EAGAIN);
        },
        [&] { endpoint_.progress(); }));
    expect_given_up(why);
  }
  void expect_given_up(const std::string& why) {
    listener_.close();
    StandingClock clock;
    EXPECT_TRUE(goes_on_until([&] { return is_given_up(); }, clock, kSecond));
    const std::string said = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    EXPECT_NE(said.find("the network lost rank 2: none of its addresses can be reached: 127.0.0.1:" +
                        std::to_string(port_) + " (" + why + ")"),
              std::string::npos)
        << said;
  }

  /// After how many twentieths of a second it is called again; `socket` is the new connection.
  int count_until_called(base::Descriptor& socket) {
    base::Descriptor next;
    int count = 0;
    EXPECT_TRUE(goes_on_until([&] { return ++count > 1000 || (next = accept()); }, *clock_, kSecond / 20));
    socket = std::move(next);
    return count;
  }

  StandingClock* clock_ = nullptr;
  Introduction introduction_{};
  Challenge challenge_{};
};

TEST_F(CalledPeer, is_told_who_calls_and_is_heard_in_whatever_parts_it_answers) {
  const base::Descriptor socket = take_call();
  EXPECT_EQ(std::string_view(introduction_.job_id.data(), introduction_.job_id.size()), bootstrap_->job_id());
  EXPECT_EQ(introduction_.magic, kGreetingMagic);
  EXPECT_EQ(introduction_.from_rank, 1U);
  EXPECT_EQ(introduction_.to_rank, 2U);
  EXPECT_EQ(introduction_.from_device, 0);
  EXPECT_EQ(introduction_.to_device, 0);
  send_in_parts(socket, prove(socket, Verdict::accepted));
  // Its hello has come with its proof.
  Record record{};
  await(socket, &record, sizeof record);
  EXPECT_EQ(record.kind, RecordKind::message);
  std::vector<std::byte> hello(padded(record.bytes));
  await(socket, hello.data(), hello.size());
  session::Header header{};
  std::memcpy(&header, hello.data(), sizeof header);
  EXPECT_EQ(header.kind, session::Kind::hello);
  EXPECT_FALSE(is_given_up());
  header.rank = 2;
  std::memcpy(hello.data(), &header, sizeof header);
  send_in_parts(socket, record);
  ASSERT_EQ(::send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(hello.size()));
  EXPECT_TRUE(until([&] { return is_given_up(); }, [&] { endpoint_.progress(); })) << "a send is accepted";
  await(socket, &record, sizeof record);
  EXPECT_EQ(record.kind, RecordKind::message);
  EXPECT_FALSE(bool(accept())) << "one connection is enough";
}

TEST_F(CalledPeer, that_closes_after_the_introduction_is_no_peer) {
  base::Descriptor socket = take_call();
  socket.close();
  expect_given_up("closed during the greeting");
}

TEST_F(CalledPeer, that_closes_after_the_proof_is_no_peer) {
  base::Descriptor socket = take_call();
  static_cast<void>(prove(socket, Verdict::accepted));
  socket.close();
  expect_given_up("closed during the greeting");
}

TEST_F(CalledPeer, whose_challenge_is_not_proved_is_no_peer) {
  const base::Descriptor socket = take_call();
  challenge_ = make_challenge(bootstrap_->secret(), introduction_, Protection::none);
  challenge_.proof[0] ^= std::byte{1};
  const std::string fault = fault_of(challenge_, bootstrap_->secret(), introduction_);
  send_in_parts(socket, challenge_);
  expect_fault(socket, fault);
}

TEST_F(CalledPeer, whose_answer_was_changed_is_no_peer) {
  const base::Descriptor socket = take_call();
  Answer answer = prove(socket, Verdict::yield);
  answer.verdict = Verdict::accepted;
  send_in_parts(socket, answer);
  expect_fault(socket, "the answer to the greeting was changed on its way");
}

TEST_F(CalledPeer, that_connects_by_itself_is_called_again_later) {
  base::Descriptor socket = take_call();
  StandingClock clock;
  clock_ = &clock;
  send_in_parts(socket, prove(socket, Verdict::yield));
  const int first = count_until_called(socket);
  EXPECT_GT(first, 4) << "it has a quarter of a second";
  EXPECT_LT(first, 9);
  await(socket, &introduction_, sizeof introduction_);
  send_in_parts(socket, prove(socket, Verdict::yield));
  const int second = count_until_called(socket);
  EXPECT_GT(second, 9) << "and then twice as long";
  EXPECT_LT(second, 15);
  EXPECT_FALSE(is_given_up());
  clock_ = nullptr;
}

}  // namespace
}  // namespace weft::network::tcp::test
