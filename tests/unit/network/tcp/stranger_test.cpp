// What strangers send to the port of a rank is refused and counted: rubbish, half a greeting, the greeting of
// another job, a greeting that was overheard; and what a rank of the job sends that cannot be.
#include "sockets/acceptor.hpp"
#include "unit/network/tcp/impostor.hpp"

#include <gtest/gtest.h>

#include <poll.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace weft::network::tcp {
namespace {

using namespace std::chrono_literals;
using test::connect_to;
using test::read_to_the_end;
using test::send_object;
using test::TcpImpostor;

const std::array<std::byte, kSecretBytes> kSecret = {std::byte{1}, std::byte{2}};
const std::array<std::byte, kSecretBytes> kOtherSecret = {std::byte{9}};
constexpr std::string_view kJob = "0123456789abcdef0123456789abcdef";

class TcpStranger : public testing::Test {
 protected:
  TcpStranger()
      : acceptor_({std::string(kJob), kSecret, 1, 3, 20, Protection::authenticated}, listen_in({}),
                  base::Log(base::LogLevel::error)) {
    prepare_greetings();
    acceptor_.open(0, inbox_);
  }

  static Introduction introduction() {
    Introduction introduction;
    kJob.copy(introduction.job_id.data(), kJob.size());
    introduction.from_rank = 2;
    introduction.to_rank = 1;
    complete(introduction, Protection::authenticated);
    return introduction;
  }

  /// Sends an introduction and returns the Challenge.
  Challenge challenge(const base::Descriptor& socket, const Introduction& introduction) {
    send_object(socket, introduction);
    Challenge challenge;
    EXPECT_TRUE(weft::test::until(
        [&] {
          return ::recv(socket.get(), &challenge, sizeof challenge, MSG_DONTWAIT | MSG_PEEK) ==
                 static_cast<ssize_t>(sizeof challenge);
        },
        [&] { acceptor_.serve(); }));
    EXPECT_EQ(::recv(socket.get(), &challenge, sizeof challenge, 0), static_cast<ssize_t>(sizeof challenge));
    return challenge;
  }

  void expect_refused(const base::Descriptor& socket, std::uint64_t count) {
    static_cast<void>(read_to_the_end(socket, [&] { acceptor_.serve(); }));
    EXPECT_EQ(acceptor_.refused(), count);
    EXPECT_EQ(inbox_.take_all(), nullptr);
  }

  Acceptor acceptor_;
  Inbox inbox_;
};

TEST_F(TcpStranger, who_knows_the_secret_is_accepted) {
  const base::Descriptor socket = connect_to(acceptor_.port());
  const Introduction own = introduction();
  const Challenge told = challenge(socket, own);
  EXPECT_EQ(fault_of(told, kSecret, own), "");
  send_object(socket, proof_of_connector(kSecret, own, told));
  Accepted* accepted = nullptr;
  EXPECT_TRUE(weft::test::until([&] { return (accepted = inbox_.take_all()) != nullptr; },
                                [&] { acceptor_.serve(); }));
  const std::unique_ptr<Accepted> owner(accepted);
  ASSERT_NE(accepted, nullptr);
  EXPECT_EQ(accepted->introduction.from_rank, 2U);
  EXPECT_EQ(acceptor_.refused(), 0U);
}

TEST_F(TcpStranger, who_sends_rubbish_is_refused) {
  std::mt19937 random(3);
  for (std::uint64_t count = 1; count <= 20; ++count) {
    const base::Descriptor socket = connect_to(acceptor_.port());
    std::array<std::uint32_t, sizeof(Introduction) / 4> rubbish;
    for (auto& each : rubbish) each = static_cast<std::uint32_t>(random());
    send_object(socket, rubbish);
    expect_refused(socket, count);
  }
}

TEST_F(TcpStranger, who_greets_with_a_wrong_field_is_refused) {
  std::vector<Introduction> wrong(9, introduction());
  wrong[0].version = kGreetingVersion + 1;
  wrong[1].job_id[0] = 'x';
  wrong[2].to_rank = 2;
  wrong[3].from_rank = 3;
  wrong[4].to_device = 1;
  wrong[5].to_device = 255;
  wrong[6].magic ^= 1;
  wrong[7].purpose = Purpose::hosts;
  wrong[8].purpose = static_cast<Purpose>(77);
  for (std::size_t index = 0; index < wrong.size(); ++index) {
    const base::Descriptor socket = connect_to(acceptor_.port());
    send_object(socket, wrong[index]);
    expect_refused(socket, index + 1);
  }
}

TEST_F(TcpStranger, who_does_not_know_the_secret_is_refused) {
  const base::Descriptor socket = connect_to(acceptor_.port());
  const Introduction own = introduction();
  const Challenge told = challenge(socket, own);
  EXPECT_EQ(fault_of(told, kOtherSecret, own), "who listens there does not know the secret of the job");
  send_object(socket, proof_of_connector(kOtherSecret, own, told));
  expect_refused(socket, 1);
}

TEST_F(TcpStranger, who_sends_an_overheard_greeting_is_refused) {
  const Introduction overheard = introduction();
  Proof proof;
  {
    const base::Descriptor socket = connect_to(acceptor_.port());
    const Challenge told = challenge(socket, overheard);
    proof = proof_of_connector(kSecret, overheard, told);
    send_object(socket, proof);
    Accepted* accepted = nullptr;
    EXPECT_TRUE(weft::test::until([&] { return (accepted = inbox_.take_all()) != nullptr; },
                                  [&] { acceptor_.serve(); }));
    const std::unique_ptr<Accepted> owner(accepted);
  }
  const base::Descriptor socket = connect_to(acceptor_.port());
  static_cast<void>(challenge(socket, overheard));
  send_object(socket, proof);
  expect_refused(socket, 1);
}

TEST_F(TcpStranger, who_sends_the_proof_of_the_listener_back_is_refused) {
  const base::Descriptor socket = connect_to(acceptor_.port());
  const Challenge told = challenge(socket, introduction());
  send_object(socket, told.proof);
  expect_refused(socket, 1);
}

TEST_F(TcpStranger, who_proves_something_else_than_was_said_is_refused) {
  for (int which = 0; which < 3; ++which) {
    const base::Descriptor socket = connect_to(acceptor_.port());
    const Introduction own = introduction();
    Introduction other = own;
    Challenge told = challenge(socket, own);
    if (which == 0) other.from_rank = 0;
    if (which == 1) other.protection = Protection::none;
    if (which == 2) told.protection = Protection::none;
    send_object(socket, proof_of_connector(kSecret, other, told));
    expect_refused(socket, static_cast<std::uint64_t>(which) + 1);
  }
}

TEST_F(TcpStranger, a_rank_with_another_protection_is_refused_and_both_are_told) {
  const base::Descriptor socket = connect_to(acceptor_.port());
  Introduction own = introduction();
  own.protection = Protection::encrypted;
  const Challenge told = challenge(socket, own);
  EXPECT_EQ(fault_of(told, kSecret, own).find("its records are authenticated, those of this rank encrypted"),
            0U);
  send_object(socket, proof_of_connector(kSecret, own, told));
  expect_refused(socket, 1);
}

TEST_F(TcpStranger, who_sends_half_a_greeting_and_closes_is_refused) {
  for (std::size_t size : {std::size_t{1}, sizeof(Introduction) / 2, sizeof(Introduction) - 1}) {
    const base::Descriptor socket = connect_to(acceptor_.port());
    const Introduction own = introduction();
    EXPECT_EQ(::send(socket.get(), &own, size, 0), static_cast<ssize_t>(size));
    ::shutdown(socket.get(), SHUT_WR);
    static_cast<void>(read_to_the_end(socket, [&] { acceptor_.serve(); }));
  }
  EXPECT_EQ(acceptor_.refused(), 3U);
}

TEST_F(TcpStranger, thousands_of_bytes_that_are_no_greeting_keep_no_rank_of_the_job_out) {
  std::vector<base::Descriptor> slow;
  for (std::size_t count = 0; count < 5 * acceptor_.slots(); ++count) {
    slow.push_back(connect_to(acceptor_.port()));
    if (count % 2 == 0) send_object(slow.back(), std::byte{'W'});
  }
  for (int count = 0; count < 10; ++count) acceptor_.serve();
  const base::Descriptor socket = connect_to(acceptor_.port());
  const Introduction own = introduction();
  const Challenge told = challenge(socket, own);
  EXPECT_EQ(fault_of(told, kSecret, own), "");
  // Others come while it makes its proof.
  for (std::size_t count = 0; count < acceptor_.slots(); ++count) {
    slow.push_back(connect_to(acceptor_.port()));
    send_object(slow.back(), std::byte{'W'});
    acceptor_.serve();
  }
  send_object(socket, proof_of_connector(kSecret, own, told));
  Accepted* accepted = nullptr;
  EXPECT_TRUE(weft::test::until([&] { return (accepted = inbox_.take_all()) != nullptr; },
                                [&] { acceptor_.serve(); }));
  const std::unique_ptr<Accepted> owner(accepted);
}

TEST_F(TcpImpostor, that_sends_a_message_of_another_rank_is_cut_off) {
  session::Header header{};
  header.rank = 0;
  header.kind = session::Kind::hello;
  send_record({sizeof header, RecordKind::message, {}, 0}, std::as_bytes(std::span(&header, 1)));
  expect_cut_off();
}

// A greeting tells the handles: no further message, and no acknowledgement, is needed before the first post.
TEST_F(TcpImpostor, is_told_the_handles_with_the_hello) {
  Counter counter;
  static_cast<void>(victim_.expose(counter, {.id = 5}));
  bootstrap_->put("tcp.device.0", *bootstrap_->try_get(1, "tcp.device.0"));  // any address will do
  session::Header header{};
  header.rank = 2;
  header.kind = session::Kind::hello;
  session::Hello hello{session::kMagic, session::kWireVersion, 64, 0, {}};
  bootstrap_->job_id().copy(hello.job_id.data(), hello.job_id.size());
  const session::HandleChange own{7, 1, 0, 0, 1};
  std::vector<std::byte> bytes(sizeof header + sizeof hello + sizeof own);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &hello, sizeof hello);
  std::memcpy(bytes.data() + sizeof header + sizeof hello, &own, sizeof own);
  send_record({static_cast<std::uint32_t>(bytes.size()), RecordKind::message, {}, 0}, bytes);
  Record record{};
  read_exactly(&record, sizeof record);
  std::vector<std::byte> answer(padded(record.bytes));
  read_exactly(answer.data(), answer.size());
  std::memcpy(&header, answer.data(), sizeof header);
  EXPECT_EQ(header.kind, session::Kind::hello);
  ASSERT_GE(record.bytes, sizeof header + sizeof hello + sizeof(session::HandleChange));
  session::HandleChange told{};
  std::memcpy(&told, answer.data() + record.bytes - sizeof told, sizeof told);
  EXPECT_EQ(told.id, 5U);
  EXPECT_EQ(told.generation, 1U);
}

TEST_F(TcpImpostor, whose_hello_has_half_a_handle_is_refused) {
  session::Header header{};
  header.rank = 2;
  header.kind = session::Kind::hello;
  session::Hello hello{session::kMagic, session::kWireVersion, 64, 0, {}};
  bootstrap_->job_id().copy(hello.job_id.data(), hello.job_id.size());
  std::vector<std::byte> bytes(sizeof header + sizeof hello + 5);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &hello, sizeof hello);
  send_record({static_cast<std::uint32_t>(bytes.size()), RecordKind::message, {}, 0}, bytes);
  EXPECT_TRUE(weft::test::until([&] { return victim_.counters().refused_messages == 1; },
                                [&] { endpoint_.progress(); }));
}

TEST_F(TcpImpostor, that_sends_a_record_that_is_too_long_is_cut_off) {
  const Record record{0xffffffff, RecordKind::message, {}, 0};
  send_object(socket_, record);
  expect_cut_off();
}

TEST_F(TcpImpostor, that_sends_data_nobody_asked_for_is_cut_off) {
  const auto bytes = weft::test::payload(64, 1);
  send_record({64, RecordKind::data, {}, 7}, bytes);
  expect_cut_off();
}

TEST_F(TcpImpostor, that_asks_for_memory_that_is_not_offered_is_refused) {
  const FetchRequest request{0x1234567800000001, 0, 4096};
  send_record({sizeof request, RecordKind::fetch, {}, 42}, std::as_bytes(std::span(&request, 1)));
  Record answer{};
  await(&answer, sizeof answer);
  EXPECT_EQ(answer.kind, RecordKind::refused);
  EXPECT_EQ(answer.token, 42U);
}

TEST_F(TcpImpostor, that_gets_from_a_region_that_does_not_exist_is_refused) {
  const FetchRequest request{key_of({0, 77}), 0, 4096};
  send_record({sizeof request, RecordKind::get, {}, 43}, std::as_bytes(std::span(&request, 1)));
  Record answer{};
  await(&answer, sizeof answer);
  EXPECT_EQ(answer.kind, RecordKind::refused);
  EXPECT_EQ(answer.token, 43U);
}

TEST_F(TcpImpostor, that_reads_slowly_is_refused_the_rest_of_a_region_that_is_released) {
  constexpr std::size_t kSize = std::size_t{32} << 20;
  std::vector<std::byte> memory(kSize, std::byte{5});
  MemoryRegion region(victim_, memory);
  const FetchRequest request{key_of({region.remote().index, region.remote().generation}), 0, kSize};
  send_record({sizeof request, RecordKind::get, {}, 45}, std::as_bytes(std::span(&request, 1)));
  Record record{};
  EXPECT_TRUE(
      weft::test::until([&] { return ::recv(socket_.get(), &record, 1, MSG_DONTWAIT | MSG_PEEK) == 1; },
                        [&] { endpoint_.progress(); }));
  region = MemoryRegion();  // while a piece is being written
  std::size_t received = 0;
  std::vector<std::byte> bytes(kLongestPiece);
  for (read_exactly(&record, sizeof record); record.kind == RecordKind::data;
       read_exactly(&record, sizeof record)) {
    ASSERT_LE(record.bytes, bytes.size());
    read_exactly(bytes.data(), padded(record.bytes));
    received += record.bytes;
  }
  EXPECT_EQ(record.kind, RecordKind::refused);
  EXPECT_EQ(record.token, 45U);
  EXPECT_LT(received, kSize);
  // The connection is as good as before.
  send_record({sizeof request, RecordKind::get, {}, 46}, std::as_bytes(std::span(&request, 1)));
  read_exactly(&record, sizeof record);
  EXPECT_EQ(record.kind, RecordKind::refused);
  EXPECT_EQ(record.token, 46U);
}

TEST_F(TcpImpostor, that_puts_beyond_a_region_is_refused_once_and_changes_nothing) {
  std::vector<std::byte> memory(20'000, std::byte{5});
  const MemoryRegion region(victim_, memory);
  const std::uint64_t key = key_of({region.remote().index, region.remote().generation});
  std::vector<std::byte> piece(sizeof(PutHead) + 10'000, std::byte{6});
  const auto send_piece = [&](const PutHead& head) {
    std::memcpy(piece.data(), &head, sizeof head);
    send_record({static_cast<std::uint32_t>(piece.size()), RecordKind::put, {}, 44}, piece);
  };
  send_piece({key, 4000, 10'000, 0});  // ends 4,000 bytes behind the region
  send_piece({key, 14'000, 0, 0});
  Record answer{};
  await(&answer, sizeof answer);
  EXPECT_EQ(answer.kind, RecordKind::refused);
  EXPECT_EQ(answer.token, 44U);
  EXPECT_EQ(memory, std::vector<std::byte>(20'000, std::byte{5}));
  // The next one is as good as any.
  send_piece({key, 10'000, 0, 0});
  await(&answer, sizeof answer);
  EXPECT_EQ(answer.kind, RecordKind::put_completed);
  EXPECT_EQ(memory[9'999], std::byte{5});
  EXPECT_EQ(memory[10'000], std::byte{6});
  EXPECT_EQ(memory[19'999], std::byte{6});
}

TEST_F(TcpImpostor, that_puts_too_much_at_a_time_is_cut_off) {
  const Record record{std::uint32_t{sizeof(PutHead) + kLongestPiece + 1}, RecordKind::put, {}, 44};
  send_object(socket_, record);
  expect_cut_off();
}

TEST_F(TcpImpostor, that_answers_a_put_that_does_not_exist_is_cut_off) {
  send_record({0, RecordKind::put_completed, {}, 3}, {});
  expect_cut_off();
}

TEST_F(TcpImpostor, that_sends_anything_breaks_nothing) {
  std::mt19937 random(11);
  std::vector<std::byte> bytes(4096);
  for (auto& each : bytes) each = static_cast<std::byte>(random());
  EXPECT_GT(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  expect_cut_off();
}

}  // namespace
}  // namespace weft::network::tcp
