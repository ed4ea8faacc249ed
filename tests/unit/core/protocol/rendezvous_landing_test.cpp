// Large messages that the network of the sender puts: the landing of the one side, the put of the other.
#include "core/protocol/rendezvous/landing_name.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace weft::core {
namespace {

using network::AccessResult;
using network::SendResult;
using test::Ended;

constexpr std::size_t kPayloadBytes = 5000;

class RendezvousLanding : public ::testing::Test {
 protected:
  RendezvousLanding() {
    device_.port.landing_bytes = 4;
    device_.port.on_land = [this](const network::RemoteLanding& to, Bytes from, std::uint64_t token) {
      to_ = to;
      from_ = from;
      token_ = token;
      ++puts_;
      return answer_;
    };
  }
  void step() { messages_.step({.exclusive = true}); }
  void receive(int peer = 1) {
    const Rts rts{0x1000, kPayloadBytes, {4, 1}, 2, 0, 1};
    ASSERT_TRUE(messages_.receiver().fetch({peer, rts, 0, room_, &ended_, nullptr}));
    step();
  }
  /// An active message to the handle.
  void announce(const RemoteCompletion& to, std::uint32_t request) {
    const Rts rts{0x1000, kPayloadBytes, {request, 1}, 2, 0, 1};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, 1, 0,
                                    reinterpret_cast<const std::byte*>(&rts), sizeof rts, nullptr, 0);
    ASSERT_TRUE(messages_.on_rts(detail::handle_word(to, 0), arrival, device_.sink));
  }
  [[nodiscard]] ClearToPut cleared() const {
    ClearToPut clear{};
    const auto& sent = device_.port.sent.front();
    EXPECT_EQ(static_cast<Channel>(sent.outgoing.channel), Channel::clear_to_put);
    EXPECT_EQ(sent.payload.size(), sizeof clear);
    std::memcpy(&clear, sent.payload.data(), sizeof clear);
    return clear;
  }
  void land(RequestName transfer) {
    messages_.receiver().landed(landing_name(transfer) & 0xffffffff, 4, device_.sink);
    step();
  }
  void start() {
    SendResult result{};
    ASSERT_EQ(
        messages_.start({1, 0, Channel::send_rts, 0, nullptr, payload_, Operation::send, 0, &ended_, nullptr},
                        {.exclusive = true}, result),
        Rendezvous::Start::started);
    Rts rts{};
    std::memcpy(&rts, device_.port.sent.front().payload.data(), sizeof rts);
    EXPECT_NE(rts.key, 0U);
    request_ = rts.request;
  }
  void clear(std::uint64_t size) {
    const ClearToPut clear{request_, {3, 0x50002}, size, 0x7000, 55, 2, 0};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, 1, 0,
                                    reinterpret_cast<const std::byte*>(&clear), sizeof clear, nullptr, 0);
    messages_.sender().on_clear_to_put(arrival, device_.sink);
    step();
  }

  test::Device device_{16, kPayloadBytes};  // active messages get a buffer one after the other
  const Context context_ = [this] {
    Context context = device_.context;
    context.transfer = Transfer::put;
    return context;
  }();
  Ended ended_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(kPayloadBytes);
  std::vector<std::byte> room_ = std::vector<std::byte>(kPayloadBytes);
  AccessResult answer_ = AccessResult::posted;
  RequestName request_{};
  network::RemoteLanding to_;
  Bytes from_;
  std::uint64_t token_ = 0;
  int puts_ = 0;
  Rendezvous messages_{context_};
};

TEST_F(RendezvousLanding, is_closed_before_the_message_is_delivered_and_nothing_is_answered) {
  receive();
  const ClearToPut clear = cleared();
  EXPECT_EQ(clear.size, kPayloadBytes);
  EXPECT_EQ(clear.address, 0x2000U);
  EXPECT_EQ(clear.key, 99U);
  ASSERT_EQ(device_.port.landings.size(), 1U);
  EXPECT_EQ(device_.port.landings.front().data(), room_.data());
  EXPECT_EQ(messages_.receiver().landing(), 1U);
  ended_.on_signal = [this] { EXPECT_TRUE(device_.port.landings.empty()); };
  land(clear.transfer);
  EXPECT_EQ(ended_.count, 1);
  EXPECT_EQ(ended_.outcome, Outcome::ok);
  EXPECT_EQ(device_.port.sent.size(), 1U);
  EXPECT_EQ(messages_.receiver().landing(), 0U);
  EXPECT_EQ(messages_.outstanding(), 0U);
  EXPECT_FALSE(messages_.has_work());
}

TEST_F(RendezvousLanding, ends_once_and_not_by_a_name_of_another_use) {
  receive();
  const RequestName transfer = cleared().transfer;
  land({transfer.index, transfer.generation + 1});
  land({transfer.index + 1, transfer.generation});
  land({60000, transfer.generation});
  EXPECT_EQ(device_.sink.rejected, 3);
  EXPECT_EQ(ended_.count, 0);
  land(transfer);
  land(transfer);
  EXPECT_EQ(device_.sink.rejected, 4);
  EXPECT_EQ(ended_.count, 1);
}

TEST_F(RendezvousLanding, of_a_sender_that_is_lost_is_closed) {
  receive();
  device_.port.on_gone = [](int) { return true; };
  ended_.on_signal = [this] { EXPECT_TRUE(device_.port.landings.empty()); };
  messages_.complete_lost_operations(test::all_is_over.data());
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
  EXPECT_EQ(messages_.receiver().landing(), 0U);
  land(cleared().transfer);
  EXPECT_EQ(device_.sink.rejected, 1);
  EXPECT_EQ(ended_.count, 1);
}

TEST_F(RendezvousLanding, of_a_sender_that_is_lost_stays_open_for_the_next_who_has_its_record) {
  receive();
  bool has_changed_hands = false;
  // While rank 1 is asked for, its message ends, and one of rank 2 begins.
  device_.port.on_gone = [&](int peer) {
    if (!std::exchange(has_changed_hands, true)) {
      land(cleared().transfer);
      device_.port.sent.clear();
      receive(2);
    }
    return peer == 1;
  };
  messages_.complete_lost_operations(test::all_is_over.data());
  ASSERT_TRUE(has_changed_hands);
  EXPECT_EQ(ended_.count, 1);
  EXPECT_EQ(device_.port.landings.size(), 1U);
  land(cleared().transfer);
  EXPECT_EQ(ended_.count, 2);
  EXPECT_EQ(ended_.outcome, Outcome::ok);
}

TEST_F(RendezvousLanding, that_is_filled_makes_room_for_the_next_active_message) {
  const RemoteCompletion remote = device_.exposures.expose(ended_, 3, 0);
  for (std::uint32_t request = 0; request < 4; ++request) announce(remote, request);
  for (int arrived = 1; arrived <= 4; ++arrived) {
    for (int count = 0; count < 3; ++count) step();
    ASSERT_EQ(device_.port.sent.size(), 1U) << arrived;
    const RequestName transfer = cleared().transfer;
    device_.port.sent.clear();
    land(transfer);
    EXPECT_EQ(ended_.count, arrived);
  }
}

TEST_F(RendezvousLanding, is_named_to_the_sender_when_there_is_room_for_the_message) {
  device_.port.send_answer = SendResult::no_slot;
  receive();
  step();
  EXPECT_EQ(device_.port.landings.size(), 1U);
  device_.port.send_answer = SendResult::sent;
  step();
  step();
  EXPECT_EQ(device_.port.landings.size(), 1U);
  EXPECT_EQ(device_.port.sent.size(), 1U);
  land(cleared().transfer);
  EXPECT_EQ(ended_.outcome, Outcome::ok);
}

TEST_F(RendezvousLanding, that_the_sender_cannot_be_told_of_is_closed) {
  device_.port.send_answer = SendResult::peer_left;
  receive();
  EXPECT_TRUE(device_.port.landings.empty());
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
  EXPECT_FALSE(messages_.has_work());
}

TEST_F(RendezvousLanding, that_cannot_be_opened_is_replaced_by_fragments) {
  device_.port.has_landings_left = false;
  receive();
  for (int count = 0; count < 3; ++count) step();
  ASSERT_EQ(device_.port.sent.size(), 1U);
  EXPECT_EQ(static_cast<Channel>(device_.port.sent.front().outgoing.channel), Channel::cts);
}

TEST_F(RendezvousLanding, is_put_into_once_from_the_offer_which_ends_with_the_put) {
  start();
  clear(kPayloadBytes - 1);
  EXPECT_EQ(puts_, 1);
  EXPECT_EQ(to_.address, 0x7000U);
  EXPECT_EQ(to_.key, 55U);
  EXPECT_EQ(to_.name, landing_name({3, 0x50002}));
  EXPECT_EQ(to_.device, 2U);
  EXPECT_EQ(from_.data(), payload_.data());
  EXPECT_EQ(from_.size(), kPayloadBytes - 1);
  step();
  EXPECT_EQ(puts_, 1) << "it is under way";
  EXPECT_EQ(device_.port.offers.size(), 1U);
  ASSERT_TRUE(RendezvousSender::is_put(token_));
  messages_.sender().put_completed(token_, Outcome::ok);
  EXPECT_TRUE(device_.port.offers.empty());
  EXPECT_EQ(ended_.outcome, Outcome::ok);
  EXPECT_FALSE(messages_.has_work());
}

TEST_F(RendezvousLanding, is_put_into_when_the_network_has_room) {
  start();
  answer_ = AccessResult::no_slot;
  clear(kPayloadBytes);
  step();
  EXPECT_EQ(puts_, 2);
  answer_ = AccessResult::posted;
  step();
  step();
  EXPECT_EQ(puts_, 3);
  messages_.sender().put_completed(token_, Outcome::peer_failed);
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
}

TEST_F(RendezvousLanding, of_a_receiver_that_is_lost_meanwhile_ends_the_message) {
  start();
  answer_ = AccessResult::not_ready;
  clear(kPayloadBytes);
  device_.port.on_gone = [](int) { return true; };
  step();
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
  EXPECT_TRUE(device_.port.offers.empty());
}

TEST_F(RendezvousLanding, whose_put_has_ended_ends_no_later_message) {
  start();
  clear(kPayloadBytes);
  const std::uint32_t index = request_.index;
  const std::uint64_t earlier = token_;
  do {
    messages_.sender().put_completed(token_, Outcome::ok);
    device_.port.sent.clear();
    start();
    clear(kPayloadBytes);
  } while (request_.index != index);
  const int ended = ended_.count;
  messages_.sender().put_completed(earlier, Outcome::ok);
  EXPECT_EQ(ended_.count, ended);
  messages_.sender().put_completed(token_, Outcome::ok);
  EXPECT_EQ(ended_.count, ended + 1);
}

TEST_F(RendezvousLanding, for_more_than_was_announced_or_a_second_time_is_refused) {
  start();
  clear(kPayloadBytes + 1);
  clear(0);
  EXPECT_EQ(puts_, 0);
  clear(kPayloadBytes);
  clear(kPayloadBytes);
  EXPECT_EQ(puts_, 1);
  EXPECT_EQ(device_.sink.rejected, 3);
}

}  // namespace
}  // namespace weft::core
