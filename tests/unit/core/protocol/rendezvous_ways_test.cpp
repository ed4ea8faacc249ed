// Large messages whose way is learned: trials of reading, and what follows when the sender's memory cannot be
// read.
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft::core {
namespace {

using test::Ended;

constexpr std::size_t kBytes = 20'000;
constexpr std::uint64_t kAddress = 0x10000;

class RendezvousWays : public ::testing::Test {
 protected:
  RendezvousWays() {
    device_.port.on_read = [this](std::uint64_t address, std::span<std::byte> to) {
      EXPECT_EQ(address, kAddress);
      EXPECT_EQ(to.size(), kBytes);
      ++reads_;
      return can_read_;
    };
  }
  /// Receives one message, streamed where the peer is asked for it. Returns whether it was asked.
  bool receive(std::uint64_t address = kAddress) {
    const Rts rts{address, kBytes, {4, 1}, 2, 0, 0};
    Ended ended;
    device_.port.sent.clear();
    EXPECT_TRUE(messages_.receiver().fetch({1, rts, 0, room_, &ended, nullptr}));
    for (int steps = 0; steps < 4; ++steps) messages_.step({.exclusive = true});
    bool is_asked = false;
    for (const auto& sent : device_.port.sent)
      if (sent.outgoing.channel == static_cast<std::uint8_t>(Channel::cts)) {
        is_asked = true;
        stream(sent.payload);
      }
    EXPECT_EQ(ended.count, 1);
    EXPECT_EQ(ended.outcome, Outcome::ok);
    return is_asked;
  }
  void stream(const std::vector<std::byte>& asked) {
    Cts clear{};
    ASSERT_EQ(asked.size(), sizeof clear);
    std::memcpy(&clear, asked.data(), sizeof clear);
    ASSERT_EQ(clear.granted, kBytes);
    const DataHeader header{0, kBytes};
    std::vector<std::byte> fragment(sizeof header + kBytes);
    std::memcpy(fragment.data(), &header, sizeof header);
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, 1, 0, fragment.data(),
                                    fragment.size(), nullptr, 0);
    messages_.receiver().on_data(word_of(clear.transfer), arrival, device_.sink);
  }

  test::Device device_;
  const Context context_ = [this] {
    Context context = device_.context;
    context.transfer = Transfer::automatic;
    return context;
  }();
  std::vector<std::byte> room_ = std::vector<std::byte>(kBytes);
  bool can_read_ = true;
  int reads_ = 0;
  Rendezvous messages_{context_};
};

TEST_F(RendezvousWays, are_both_tried) {
  for (int count = 0; count < 8; ++count) EXPECT_TRUE(receive());
  EXPECT_EQ(reads_, 0);
  EXPECT_FALSE(receive());
  EXPECT_EQ(reads_, 1);
}

TEST_F(RendezvousWays, go_back_to_copies_when_a_try_fails_and_lose_no_message) {
  for (int count = 0; count < 8; ++count) receive();
  can_read_ = false;
  for (int count = 0; count < 1000; ++count) ASSERT_TRUE(receive());
  EXPECT_EQ(reads_, 1);
}

TEST_F(RendezvousWays, are_copies_where_the_sender_has_no_single_buffer) {
  for (int count = 0; count < 100; ++count) ASSERT_TRUE(receive(0));
  EXPECT_EQ(reads_, 0);
}

TEST_F(RendezvousWays, are_copies_where_peers_cannot_be_read) {
  device_.port.on_read = nullptr;
  for (int count = 0; count < 100; ++count) ASSERT_TRUE(receive());
}

}  // namespace
}  // namespace weft::core
