#include "bootstrap/local/server.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>

#include "bootstrap/job_id.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {
namespace {

std::string request_of(const Header& header, std::string_view payload) {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes.append(payload);
}
Header hello_of(int rank) {
  return {.length = 32, .request = 1, .message = Message::hello, .argument = rank};
}

// Speaks to the server byte by byte, as no client would.
class RawRank {
 public:
  explicit RawRank(Server& server) : server_(server), socket_(connect_abstract(server.name())) {
    server_.serve();
  }

  void send(const Header& header, std::string_view payload) { send_raw(request_of(header, payload)); }
  void send_raw(std::string_view bytes) {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    server_.serve();
  }
  Message hello(int rank) {
    send(hello_of(rank), server_.job_id());
    return receive();
  }
  // The kind of the next answer, whose payload is dropped.
  Message receive() {
    server_.serve();
    Header header;
    if (receive_part(socket_.get(), &header, sizeof header, passed_, MSG_DONTWAIT) !=
        static_cast<ssize_t>(sizeof header))
      return {};
    text_.resize(header.length);
    static_cast<void>(::recv(socket_.get(), text_.data(), text_.size(), MSG_DONTWAIT));
    return header.message;
  }
  bool is_closed() {
    server_.serve();
    char byte = 0;
    // An end with data that the server has not read is a reset.
    const ssize_t count = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }
  const std::string& text() const { return text_; }
  /// The descriptor that came last.
  Descriptor take_passed() { return std::move(passed_); }

 private:
  Server& server_;
  Descriptor socket_;
  Descriptor passed_;
  std::string text_;
};

TEST(Server, a_rank_is_welcomed_by_its_job_only) {
  Server server{random_job_id(), 2};
  RawRank good{server};
  EXPECT_EQ(good.hello(1), Message::done);
  RawRank no_such_rank{server};
  EXPECT_EQ(no_such_rank.hello(2), Message::failed);
  RawRank other_job{server};
  other_job.send({.length = 32, .request = 1, .message = Message::hello, .argument = 0}, random_job_id());
  EXPECT_EQ(other_job.receive(), Message::failed);
}

/// Another process that has joined as a rank, and stays until this object ends.
class OtherProcess {
 public:
  OtherProcess(Server& server, int rank) {
    int told[2];
    EXPECT_EQ(::pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
    const Descriptor hears{told[0]};
    const Descriptor tells{told[1]};
    process_ = ::fork();
    if (process_ == 0) join(server, rank, tells.get());
    char byte = 0;
    while (::read(hears.get(), &byte, 1) != 1) server.serve();
  }
  ~OtherProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

 private:
  [[noreturn]] static void join(Server& server, int rank, int tells) {
    const Descriptor socket = connect_abstract(server.name());
    const std::string bytes = request_of(hello_of(rank), server.job_id());
    static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    char answer = 0;
    static_cast<void>(::recv(socket.get(), &answer, 1, 0));
    static_cast<void>(::write(tells, &answer, 1));
    for (;;) ::pause();
  }

  pid_t process_ = -1;
};

TEST(Server, a_second_process_is_no_rank_while_the_first_one_runs) {
  Server server{random_job_id(), 2};
  {
    const OtherProcess other(server, 1);
    RawRank second{server};
    EXPECT_EQ(second.hello(1), Message::failed);
    EXPECT_NE(second.text().find("a program that a rank starts is no rank"), std::string::npos)
        << second.text();
    RawRank another{server};
    EXPECT_EQ(another.hello(0), Message::done);
  }
  RawRank next{server};
  EXPECT_EQ(next.hello(1), Message::done);
}

TEST(Server, impossible_lengths_end_the_connection_and_nothing_else) {
  Server server{random_job_id(), 2};
  RawRank stranger{server};
  stranger.send({.length = kMaximumHello + 1, .request = 1, .message = Message::hello, .argument = 0}, "");
  EXPECT_TRUE(stranger.is_closed());
  RawRank member{server};
  ASSERT_EQ(member.hello(0), Message::done);
  member.send({.length = 0xffffffff, .request = 2, .message = Message::put, .argument = 1}, "");
  EXPECT_TRUE(member.is_closed());
  RawRank next{server};
  EXPECT_EQ(next.hello(1), Message::done);
}

TEST(Server, requests_before_hello_end_the_connection) {
  Server server{random_job_id(), 1};
  RawRank stranger{server};
  stranger.send({.length = 0, .request = 1, .message = Message::barrier, .argument = 0}, "");
  EXPECT_TRUE(stranger.is_closed());
  RawRank noise{server};
  noise.send_raw(std::string(64, '\xff'));
  EXPECT_TRUE(noise.is_closed());
}

TEST(Server, impossible_arguments_are_refused) {
  Server server{random_job_id(), 1};
  RawRank rank{server};
  ASSERT_EQ(rank.hello(0), Message::done);
  for (const std::int32_t key_length : {-1, 0, 4, 1 << 30}) {
    rank.send({.length = 3, .request = 2, .message = Message::put, .argument = key_length}, "key");
    EXPECT_EQ(rank.receive(), Message::failed) << key_length;
  }
  rank.send({.length = 3, .request = 2, .message = Message::get, .argument = 1}, "key");
  EXPECT_EQ(rank.receive(), Message::failed);
  rank.send({.length = 3, .request = 2, .message = Message::try_get, .argument = -1}, "key");
  EXPECT_EQ(rank.receive(), Message::failed);
  rank.send({.length = 0, .request = 2, .message = static_cast<Message>(77), .argument = 0}, "");
  EXPECT_TRUE(rank.is_closed());
}

TEST(Server, only_another_rank_is_reported_as_unreachable) {
  Server server{random_job_id(), 3};
  RawRank rank{server};
  ASSERT_EQ(rank.hello(1), Message::done);
  RawRank reached_in_vain{server};
  ASSERT_EQ(reached_in_vain.hello(2), Message::done);
  for (const std::int32_t reported : {1, -1, 3, 1 << 30, 2})
    rank.send({.length = 3, .request = 0, .message = Message::unreachable, .argument = reported}, "why");
  auto lost = server.findings().take_unreachable();
  for (; !lost.has_value(); lost = server.findings().take_unreachable()) server.serve();
  EXPECT_EQ(lost->rank, 2) << "those before it are nobody, or rank 1 itself";
  EXPECT_EQ(lost->by, 1);
}

TEST(Server, a_message_may_arrive_in_any_pieces) {
  Server server{random_job_id(), 1};
  RawRank rank{server};
  ASSERT_EQ(rank.hello(0), Message::done);
  const Header header{.length = 8, .request = 2, .message = Message::put, .argument = 3};
  for (const char byte : request_of(header, "keyvalue")) rank.send_raw({&byte, 1});
  EXPECT_EQ(rank.receive(), Message::done);
  rank.send({.length = 3, .request = 3, .message = Message::try_get, .argument = 0}, "key");
  EXPECT_EQ(rank.receive(), Message::done);
  EXPECT_EQ(rank.text(), "value");
}

TEST(Server, what_waits_for_a_rank_fails_with_how_it_ended) {
  Server server{random_job_id(), 3};
  RawRank rank{server};
  ASSERT_EQ(rank.hello(0), Message::done);
  rank.send({.length = 3, .request = 2, .message = Message::get, .argument = 2}, "key");
  EXPECT_EQ(rank.receive(), Message{});
  server.rank_ended(2, "exited with code 0");
  EXPECT_EQ(rank.receive(), Message::failed);
  EXPECT_EQ(rank.text(), "rank 2 exited with code 0 without publishing \"key\"");

  // The same for runtimes that are created later.
  RawRank later{server};
  ASSERT_EQ(later.hello(0), Message::done);
  later.send({.length = 0, .request = 2, .message = Message::barrier, .argument = 0}, "");
  EXPECT_EQ(later.receive(), Message::failed);
  EXPECT_EQ(later.text(), "rank 2 exited with code 0 without joining the barrier");
}

class FailureBoard : public ::testing::Test {
 protected:
  std::unique_ptr<Board> board_of(RawRank& rank, int number) {
    EXPECT_EQ(rank.hello(number), Message::done);
    EXPECT_EQ(rank.text().size(), sizeof(Welcome));
    return Board::open(rank.take_passed(), server_.job_id(), 4);
  }
  Server server_{random_job_id(), 4};
};

TEST_F(FailureBoard, tells_a_rank_whose_connection_breaks_from_one_that_leaves) {
  RawRank observer{server_};
  const auto board = board_of(observer, 0);
  ASSERT_NE(board, nullptr);
  {
    RawRank leaving{server_};
    ASSERT_EQ(leaving.hello(1), Message::done);
    leaving.send({.length = 0, .request = 2, .message = Message::leave, .argument = 0}, "");
  }
  server_.rank_ended(1, "exited with code 0");
  server_.serve();
  EXPECT_EQ(board->failures().load(), 0U);
  {
    RawRank failing{server_};
    ASSERT_EQ(failing.hello(2), Message::done);
  }
  server_.serve();
  EXPECT_EQ(board->failures().load(), 1U);
  server_.rank_ended(2, "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(board->failures().load(), 1U);
  EXPECT_FALSE(board->has_failed(1));
  EXPECT_TRUE(board->has_failed(2));
}

TEST_F(FailureBoard, tells_of_a_rank_that_ends_without_ever_joining) {
  RawRank observer{server_};
  const auto board = board_of(observer, 0);
  ASSERT_NE(board, nullptr);
  server_.rank_ended(3, "exited with code 0");
  EXPECT_TRUE(board->has_failed(3));
  // Likewise to a later runtime.
  RawRank again{server_};
  const auto later = board_of(again, 0);
  ASSERT_NE(later, nullptr);
  EXPECT_TRUE(later->has_failed(3));
  EXPECT_FALSE(later->has_failed(0));
}

TEST_F(FailureBoard, of_another_job_is_not_opened) {
  const auto board = [this] {
    RawRank observer{server_};
    EXPECT_EQ(observer.hello(0), Message::done);
    return observer.take_passed();
  };
  EXPECT_THROW(Board::open(board(), random_job_id(), 4), Error);
  EXPECT_THROW(Board::open(board(), server_.job_id(), 5), Error);
  EXPECT_THROW(Board::open(Descriptor{}, server_.job_id(), 4), Error);
}

TEST(Server, an_abort_has_a_code_that_is_a_failure) {
  Server server{random_job_id(), 1};
  EXPECT_FALSE(server.findings().aborted().has_value());
  RawRank rank{server};
  ASSERT_EQ(rank.hello(0), Message::done);
  rank.send({.length = 3, .request = 2, .message = Message::abort, .argument = 256}, "why");
  EXPECT_EQ(rank.receive(), Message::done);
  ASSERT_TRUE(server.findings().aborted().has_value());
  EXPECT_EQ(server.findings().aborted()->code, 1);
  EXPECT_EQ(server.findings().aborted()->reason, "why");
}

}  // namespace
}  // namespace weft::bootstrap::local
