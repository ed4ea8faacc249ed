// Connections whose sockets are full: watched until there is room, and no longer.
#include "network/tcp/waiting_writes.hpp"
#include "base/clock.hpp"
#include "unit/clock/tcp/pieces_fixture.hpp"

#include <sys/epoll.h>

namespace weft::network::tcp::test {
namespace {

class WritesThatWait : public Pieces {
 protected:
  WritesThatWait() {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection_;
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection_.socket.get(), &event), 0);
  }
  /// What the device would be told of the connection.
  std::uint32_t events() {
    epoll_event event{};
    return ::epoll_wait(epoll_.get(), &event, 1, 0) == 1 ? event.events : 0U;
  }
  /// The peer reads everything that has come.
  void read_all() {
    std::array<std::byte, 8192> some;
    while (::recv(peer_.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
    }
  }

  base::Descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  WaitingWrites writes_{epoll_.get(), sender_, courier_};
};

TEST_F(WritesThatWait, end_when_the_socket_has_taken_all) {
  EXPECT_TRUE(writes_.are_none());
  EXPECT_FALSE(writes_.is_laden());
  fill_output();
  writes_.add(connection_);
  writes_.add(connection_);
  EXPECT_TRUE(writes_.is_laden());
  EXPECT_TRUE(connection_.is_writing);
  const std::int64_t since = connection_.writing_since;
  EXPECT_EQ(since, base::now_ns());
  clock_.advance(kMillisecond);
  writes_.write();
  writes_.add(connection_);
  EXPECT_EQ(connection_.writing_since, since) << "it waits since then";
  EXPECT_FALSE(writes_.are_none());
  EXPECT_EQ(events(), 0U) << "the socket is full";
  read_all();
  EXPECT_EQ(events(), static_cast<std::uint32_t>(EPOLLOUT));
  EXPECT_TRUE(weft::test::until([&] { return writes_.are_none(); },
                                [&] {
                                  writes_.write();
                                  read_all();
                                }));
  EXPECT_TRUE(connection_.output.is_empty());
  EXPECT_FALSE(writes_.is_laden());
  EXPECT_FALSE(connection_.is_writing);
  EXPECT_EQ(events(), 0U) << "nobody waits for room any more";
  ASSERT_EQ(::send(peer_.get(), "x", 1, 0), 1);
  EXPECT_EQ(events(), static_cast<std::uint32_t>(EPOLLIN));
}

TEST_F(WritesThatWait, are_written_once_each_however_often_they_are_added) {
  fill_output();
  writes_.add(connection_);
  writes_.add(connection_);
  EXPECT_TRUE(weft::test::until([&] { return writes_.are_none(); },
                                [&] {
                                  read_all();
                                  writes_.write();
                                }));
  EXPECT_FALSE(connection_.is_writing);
  writes_.add(connection_);
  EXPECT_FALSE(writes_.are_none());
}

TEST_F(WritesThatWait, end_with_their_connection) {
  fill_output();
  writes_.add(connection_);
  writes_.write();
  owner_.lose(connection_, "");
  writes_.write();
  EXPECT_TRUE(writes_.are_none());
  EXPECT_FALSE(writes_.is_laden());
}

TEST_F(WritesThatWait, end_where_nothing_can_be_written_and_what_comes_is_still_heard) {
  fill_output();
  writes_.add(connection_);
  writes_.write();
  connection_.is_broken = true;
  writes_.write();
  EXPECT_TRUE(writes_.are_none());
  read_all();
  EXPECT_EQ(events(), 0U);
  ASSERT_EQ(::send(peer_.get(), "x", 1, 0), 1);
  EXPECT_EQ(events(), static_cast<std::uint32_t>(EPOLLIN));
}

}  // namespace
}  // namespace weft::network::tcp::test
