// Large messages whose payload the network fetches from the sender: the offer of the one side, the fetch of
// the other.
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft::core {
namespace {

using network::AccessResult;
using test::Ended;

constexpr std::size_t kBytes = 5000;

class RendezvousFetch : public ::testing::Test {
 protected:
  RendezvousFetch() {
    device_.port.on_fetch = [this](const network::OfferedMemory& from, std::span<std::byte> to,
                                   std::uint64_t token) {
      from_ = from;
      to_ = to;
      token_ = token;
      ++asked_;
      return answer_;
    };
  }
  [[nodiscard]] network::SendResult start(Ended* ended) {
    network::SendResult result{};
    EXPECT_EQ(
        messages_.start({1, 0, Channel::send_rts, 0, nullptr, payload_, Operation::send, 0, ended, nullptr},
                        {.exclusive = true}, result),
        Rendezvous::Start::started);
    return result;
  }
  [[nodiscard]] Rts announced() const {
    Rts rts{};
    const auto& sent = device_.port.sent.front().payload;
    EXPECT_EQ(sent.size(), sizeof rts);
    std::memcpy(&rts, sent.data(), sizeof rts);
    return rts;
  }
  void receive() {
    const Rts rts{0x1000, kBytes, {4, 1}, 2, 0, 77};
    ASSERT_TRUE(messages_.receiver().fetch({1, rts, 0, room_, &ended_, nullptr}));
    messages_.step({.exclusive = true});
  }
  /// The channels of what has been sent.
  [[nodiscard]] std::vector<Channel> sent() const {
    std::vector<Channel> channels;
    for (const auto& each : device_.port.sent)
      channels.push_back(static_cast<Channel>(each.outgoing.channel));
    return channels;
  }

  test::Device device_;
  const Context context_ = [this] {
    Context context = device_.context;
    context.transfer = Transfer::automatic;
    return context;
  }();
  Ended ended_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(kBytes);
  std::vector<std::byte> room_ = std::vector<std::byte>(kBytes);
  AccessResult answer_ = AccessResult::posted;
  network::OfferedMemory from_;
  std::span<std::byte> to_;
  std::uint64_t token_ = 0;
  int asked_ = 0;
  Rendezvous messages_{context_};
};

TEST_F(RendezvousFetch, announces_the_key_and_keeps_the_offer_until_the_end) {
  ASSERT_EQ(start(&ended_), network::SendResult::sent);
  ASSERT_EQ(device_.port.offers.size(), 1U);
  const Rts rts = announced();
  EXPECT_EQ(rts.key, device_.port.offers.front());
  EXPECT_EQ(rts.address, reinterpret_cast<std::uint64_t>(payload_.data()));
  Message fin;
  detail::MessageAccess::set_view(fin, Operation::active_message, 1, 0,
                                  reinterpret_cast<const std::byte*>(&rts.request), sizeof rts.request,
                                  nullptr, 0);
  messages_.sender().on_fin(fin, device_.sink);
  EXPECT_TRUE(device_.port.offers.empty());
  EXPECT_EQ(ended_.count, 1);
}

TEST_F(RendezvousFetch, ends_the_offer_of_a_message_whose_receiver_is_lost) {
  ASSERT_EQ(start(&ended_), network::SendResult::sent);
  device_.port.on_gone = [](int) { return true; };
  messages_.complete_lost_operations(test::all_is_over.data());
  EXPECT_TRUE(device_.port.offers.empty());
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
}

TEST_F(RendezvousFetch, of_a_list_of_buffers_is_not_offered) {
  const std::array<Bytes, 2> parts{Bytes(payload_).first(100), Bytes(payload_).subspan(100)};
  network::SendResult result{};
  ASSERT_EQ(messages_.start({1,
                             0,
                             Channel::send_rts,
                             0,
                             nullptr,
                             {},
                             Operation::send,
                             0,
                             &ended_,
                             nullptr,
                             MessageClass::normal,
                             {},
                             parts,
                             kBytes},
                            {.exclusive = true}, result),
            Rendezvous::Start::started);
  EXPECT_TRUE(device_.port.offers.empty());
  EXPECT_EQ(announced().key, 0U);
}

TEST_F(RendezvousFetch, lands_in_the_buffer_and_is_answered_and_signalled_at_the_end) {
  receive();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(from_.key, 77U);
  EXPECT_EQ(from_.address, 0x1000U);
  EXPECT_EQ(from_.device, 2U);
  EXPECT_EQ(to_.data(), room_.data());
  EXPECT_EQ(to_.size(), kBytes);
  EXPECT_TRUE(RendezvousReceiver::is_fetch(token_));
  EXPECT_EQ(messages_.receiver().landing(), 1U);
  messages_.step({.exclusive = true});
  EXPECT_EQ(asked_, 1) << "it is under way";
  EXPECT_EQ(ended_.count, 0);
  // Its sender may say that the message has been consumed as soon as it has the answer.
  ended_.on_signal = [this] { EXPECT_TRUE(sent().empty()) << "answered before it is delivered"; };
  messages_.receiver().fetch_completed(token_, Outcome::ok);
  messages_.step({.exclusive = true});
  EXPECT_EQ(sent(), std::vector{Channel::fin});
  EXPECT_EQ(ended_.count, 1);
  EXPECT_EQ(ended_.outcome, Outcome::ok);
  EXPECT_EQ(messages_.receiver().landing(), 0U);
  EXPECT_EQ(messages_.outstanding(), 0U);
}

TEST_F(RendezvousFetch, is_tried_again_while_there_is_no_room) {
  for (const AccessResult answer :
       {AccessResult::no_slot, AccessResult::lock_contended, AccessResult::not_ready}) {
    answer_ = answer;
    const int before = asked_;
    if (before == 0)
      receive();
    else
      messages_.step({.exclusive = true});
    EXPECT_EQ(asked_, before + 1);
    EXPECT_EQ(messages_.receiver().landing(), 0U);
  }
  answer_ = AccessResult::posted;
  messages_.step({.exclusive = true});
  messages_.receiver().fetch_completed(token_, Outcome::ok);
  messages_.step({.exclusive = true});
  EXPECT_EQ(ended_.outcome, Outcome::ok);
}

TEST_F(RendezvousFetch, that_the_network_cannot_do_is_asked_for_in_fragments) {
  answer_ = AccessResult::unsupported;
  receive();
  for (int step = 0; step < 3; ++step) messages_.step({.exclusive = true});
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(sent(), std::vector{Channel::cts});
  EXPECT_EQ(ended_.count, 0);
}

TEST_F(RendezvousFetch, that_the_network_refuses_late_is_asked_for_in_fragments) {
  receive();
  messages_.receiver().fetch_completed(token_, Outcome::refused);
  for (int step = 0; step < 3; ++step) messages_.step({.exclusive = true});
  EXPECT_EQ(sent(), std::vector{Channel::cts});
  EXPECT_EQ(ended_.count, 0);
}

TEST_F(RendezvousFetch, whose_sender_is_lost_ends_as_failed) {
  receive();
  messages_.receiver().fetch_completed(token_, Outcome::peer_failed);
  messages_.step({.exclusive = true});
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(ended_.count, 1);
  EXPECT_EQ(ended_.outcome, Outcome::peer_failed);
  EXPECT_EQ(messages_.outstanding(), 0U);
  EXPECT_FALSE(messages_.has_work());
}

TEST_F(RendezvousFetch, into_a_shorter_buffer_brings_what_fits) {
  room_.resize(100);
  receive();
  EXPECT_EQ(to_.size(), 100U);
  messages_.receiver().fetch_completed(token_, Outcome::ok);
  messages_.step({.exclusive = true});
  EXPECT_EQ(ended_.outcome, Outcome::truncated);
}

}  // namespace
}  // namespace weft::core
