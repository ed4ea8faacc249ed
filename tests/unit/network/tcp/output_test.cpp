// What waits for a socket: urgent records leave first, and none is broken by another.
#include "network/tcp/connection/output.hpp"
#include "base/descriptor.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace weft::network::tcp {
namespace {

class TcpOutput : public testing::Test {
 protected:
  TcpOutput() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    own_ = base::Descriptor(ends[0]);
    peer_ = base::Descriptor(ends[1]);
    const int small = 4096;
    EXPECT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    output_.open();
  }

  Output::Result write(Queue queue, std::uint64_t token, std::size_t size) {
    const auto bytes = weft::test::payload(size, token);
    const Record record{static_cast<std::uint32_t>(size), RecordKind::message, {}, token};
    // Header and payload are cut anywhere.
    const std::size_t cut = size / 3;
    return output_.write(own_.get(), queue, record, std::span(bytes).first(cut),
                         std::span(bytes).subspan(cut));
  }

  /// Reads at most `size` bytes.
  void read(std::size_t size) {
    std::vector<std::byte> bytes(size);
    if (const ssize_t got = ::recv(peer_.get(), bytes.data(), size, 0); got > 0)
      received_.insert(received_.end(), bytes.begin(), bytes.begin() + got);
  }

  /// Takes the records that have come whole; returns their tokens.
  std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> tokens;
    for (;;) {
      Record record{};
      if (received_.size() < sizeof record) break;
      std::memcpy(&record, received_.data(), sizeof record);
      const std::size_t whole = sizeof record + padded(record.bytes);
      if (received_.size() < whole) break;
      EXPECT_TRUE(
          weft::test::matches(std::span(received_).subspan(sizeof record, record.bytes), record.token));
      tokens.push_back(record.token);
      received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(whole));
    }
    return tokens;
  }

  sockets::SealedStream stream_;
  Output output_{stream_};
  base::Descriptor own_;
  base::Descriptor peer_;
  std::vector<std::byte> received_;
};

TEST_F(TcpOutput, leaves_at_once_while_the_socket_takes_it) {
  EXPECT_EQ(write(Queue::normal, 1, 100), Output::Result::taken);
  EXPECT_TRUE(output_.is_empty());
  read(1000);
  EXPECT_EQ(take(), std::vector<std::uint64_t>{1});
}

TEST_F(TcpOutput, keeps_the_order_of_a_queue_and_lets_urgent_records_pass) {
  std::uint64_t token = 0;
  while (output_.is_empty()) ASSERT_EQ(write(Queue::bulk, ++token, 1000), Output::Result::taken);
  for (int count = 0; count < 5; ++count) ASSERT_EQ(write(Queue::bulk, ++token, 1000), Output::Result::taken);
  ASSERT_EQ(write(Queue::normal, 1001, 100), Output::Result::taken);
  ASSERT_EQ(write(Queue::urgent, 2001, 100), Output::Result::taken);
  std::vector<std::uint64_t> all;
  ASSERT_TRUE(weft::test::until(
      [&] {
        for (const std::uint64_t each : take()) all.push_back(each);
        return all.size() == token + 2;
      },
      [&] {
        read(500);
        ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
      }));
  const auto place = [&](std::uint64_t of) { return std::find(all.begin(), all.end(), of) - all.begin(); };
  EXPECT_LT(place(2001), place(1001));
  EXPECT_LT(place(1001), place(token));
  EXPECT_LT(place(1001), place(token - 4)) << "what has not been begun waits";
  std::erase_if(all, [](std::uint64_t each) { return each > 1000; });
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

TEST_F(TcpOutput, refuses_what_has_no_room_without_effect) {
  std::uint64_t token = 0;
  while (write(Queue::normal, token + 1, 5000) == Output::Result::taken) ++token;
  EXPECT_EQ(write(Queue::urgent, 1001, 100), Output::Result::taken) << "other queues have room of their own";
  std::size_t count = 0;
  ASSERT_TRUE(weft::test::until(
      [&] {
        count += take().size();
        return count == token + 1;
      },
      [&] {
        read(3000);
        ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
      }));
  EXPECT_TRUE(output_.is_empty());
  EXPECT_TRUE(received_.empty());
}

TEST_F(TcpOutput, writes_pieces_from_where_they_are_between_records) {
  const auto piece = weft::test::payload(60'000, 77);
  const Record record{60'000, RecordKind::data, {}, 77};
  ASSERT_NE(output_.write_piece(own_.get(), record, {}, piece), Output::Result::failed);
  ASSERT_TRUE(output_.has_piece());
  ASSERT_EQ(write(Queue::urgent, 1, 10), Output::Result::taken);
  std::vector<std::uint64_t> all;
  ASSERT_TRUE(weft::test::until(
      [&] {
        for (const std::uint64_t each : take()) all.push_back(each);
        return all.size() == 2;
      },
      [&] {
        read(7000);
        ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
      }));
  EXPECT_EQ(all, (std::vector<std::uint64_t>{77, 1}));
}

TEST_F(TcpOutput, breaks_no_record_whatever_the_order_and_the_speed) {
  std::mt19937 random(7);
  std::uint64_t token = 0;
  std::map<std::uint64_t, int> open;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0) {
      const auto queue = static_cast<Queue>(random() % kQueues);
      if (write(queue, token + 1, random() % 3000) == Output::Result::taken) open[++token] = 1;
    } else {
      read(random() % 6000 + 1);
      ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
    }
    for (const std::uint64_t each : take()) EXPECT_EQ(open.erase(each), 1U);
  }
  ASSERT_TRUE(weft::test::until(
      [&] {
        for (const std::uint64_t each : take()) EXPECT_EQ(open.erase(each), 1U);
        return open.empty();
      },
      [&] {
        read(100'000);
        ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
      }));
}

TEST_F(TcpOutput, keeps_an_answer_whole_while_something_waits) {
  std::uint64_t token = 0;
  while (output_.is_empty()) ASSERT_EQ(write(Queue::bulk, ++token, 1000), Output::Result::taken);
  const Record answer{0, RecordKind::refused, {}, 0x0102030405060708};
  ASSERT_EQ(output_.write_answer(own_.get(), answer), Output::Result::taken);
  std::vector<std::uint64_t> all;
  ASSERT_TRUE(test::until(
      [&] {
        for (const std::uint64_t each : take()) all.push_back(each);
        return all.size() == token + 1;
      },
      [&] {
        read(500);
        ASSERT_NE(output_.flush(own_.get()), Output::Result::failed);
      }));
  EXPECT_EQ(std::count(all.begin(), all.end(), answer.token), 1);
}

TEST_F(TcpOutput, tells_that_the_peer_has_gone) {
  peer_ = base::Descriptor();
  // Short records leave in one piece, longer ones in several.
  for (const std::size_t size : {std::size_t{10}, std::size_t{1000}, std::size_t{3000}}) {
    auto result = Output::Result::taken;
    for (int count = 0; count < 100 && result != Output::Result::failed; ++count)
      result = write(Queue::normal, 1, size);
    EXPECT_EQ(result, Output::Result::failed) << size;
  }
}

}  // namespace
}  // namespace weft::network::tcp
