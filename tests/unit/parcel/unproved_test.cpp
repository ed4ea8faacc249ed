// Connections to the port tcp that have not said which rank they are of.
#if __has_include(<asio.hpp>)  // as the port tcp itself
#include "study/parcelports/tcp/unproved.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace weft::parcel::ports::tcp {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

class UnprovedTest : public testing::Test {
 protected:
  /// A connection that has been accepted from 127.0.0.`host`.
  std::shared_ptr<tcp::socket> accept_from(int host) {
    callers_.push_back(std::make_unique<tcp::socket>(context_, tcp::v4()));
    callers_.back()->bind({asio::ip::make_address_v4("127.0.0." + std::to_string(host)), 0});
    callers_.back()->connect(acceptor_.local_endpoint());
    auto accepted = std::make_shared<tcp::socket>(context_);
    acceptor_.accept(*accepted);
    return accepted;
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::vector<std::unique_ptr<tcp::socket>> callers_;
  Unproved unproved_{4};
  const Unproved::Clock::time_point now_ = Unproved::Clock::now();
};

TEST_F(UnprovedTest, the_oldest_of_the_source_with_most_of_them_makes_room) {
  const auto other = accept_from(2);
  unproved_.add(other, now_);
  std::vector<std::shared_ptr<tcp::socket>> many;
  for (int count = 0; count < 10; ++count) {
    many.push_back(accept_from(1));
    unproved_.add(many.back(), now_);
  }
  EXPECT_TRUE(other->is_open());
  for (std::size_t index = 0; index < many.size(); ++index)
    EXPECT_EQ(many[index]->is_open(), index >= 7) << index;
}

TEST_F(UnprovedTest, who_is_late_is_closed) {
  const auto early = accept_from(1);
  const auto late = accept_from(1);
  unproved_.add(early, now_);
  unproved_.add(late, now_ + 3s);
  unproved_.end_late(now_ + 6s);
  EXPECT_FALSE(early->is_open());
  EXPECT_TRUE(late->is_open());
  unproved_.end_late(now_ + 9s);
  EXPECT_FALSE(late->is_open());
  EXPECT_TRUE(unproved_.is_empty());
}

TEST_F(UnprovedTest, who_has_proved_itself_stays) {
  const auto member = accept_from(1);
  unproved_.add(member, now_);
  unproved_.remove(*member, true);
  unproved_.end_late(now_ + 100s);
  unproved_.end_all();
  EXPECT_TRUE(member->is_open());
}

TEST_F(UnprovedTest, many_that_come_and_go_are_slowed_down_and_members_are_not) {
  const auto come = [&](bool is_member) {
    const auto socket = accept_from(1);
    unproved_.add(socket, now_);
    unproved_.remove(*socket, is_member);
  };
  for (int count = 0; count < 100; ++count) come(true);
  EXPECT_TRUE(unproved_.may_accept(now_));
  for (int count = 0; count < 100; ++count) come(false);
  EXPECT_FALSE(unproved_.may_accept(now_));
  EXPECT_TRUE(unproved_.may_accept(now_ + 1s));
}

}  // namespace
}  // namespace weft::parcel::ports::tcp
#endif
