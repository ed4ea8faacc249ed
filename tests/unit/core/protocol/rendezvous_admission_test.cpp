// Which large active messages get a buffer, and when.
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace weft::core {
namespace {

using test::Device;
using test::Ended;

constexpr std::size_t kSize = std::size_t{256} << 10;
constexpr std::size_t kBound = 4 * kSize;

/// Counts what it has given out, and answers what a test wants it to.
class Supply final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    ++asked;
    if (!has_room) return nullptr;
    held += size;
    return new (std::align_val_t{16}) std::byte[size];
  }
  void release(std::byte* data, std::size_t size, std::uint64_t) noexcept override {
    held -= size;
    ::operator delete[](data, std::align_val_t{16});
  }
  [[nodiscard]] const char* refusal(std::size_t size) const noexcept override {
    return size > largest ? "too large for this test" : nullptr;
  }
  bool has_room = true;
  std::size_t largest = ~std::size_t{0};
  std::size_t held = 0;
  int asked = 0;
};

class LargeAdmission : public testing::Test {
 protected:
  LargeAdmission() { ended_.set_allocator(supply_); }

  [[nodiscard]] std::uint64_t word(const RemoteCompletion& remote) const {
    return std::uint64_t{remote.id()} << 48 | std::uint64_t{remote.generation()} << 32;
  }
  void announce(int peer, std::uint32_t request, std::size_t size = kSize,
                MessageClass message_class = MessageClass::normal, std::uint64_t to = 0) {
    const Rts rts{0, size, {request, 1}, 0, static_cast<std::uint32_t>(message_class)};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, peer, 0,
                                    reinterpret_cast<const std::byte*>(&rts), sizeof rts, nullptr, 0);
    ASSERT_TRUE(messages_.on_rts(to != 0 ? to : word(remote_), arrival, device_.sink));
  }
  /// Sends what has been asked for so far, of the messages of one peer; returns their requests in the order
  /// in which they were asked for.
  std::vector<std::uint32_t> stream(int peer) {
    std::vector<std::uint32_t> asked;
    std::vector<std::byte> fragment(sizeof(DataHeader) + 32768);
    for (std::size_t& seen = seen_[peer]; seen < device_.port.sent.size(); ++seen) {
      const auto sent = device_.port.sent[seen];
      if (sent.outgoing.peer != peer || sent.outgoing.channel != static_cast<std::uint8_t>(Channel::cts))
        continue;
      Cts clear{};
      std::memcpy(&clear, sent.payload.data(), sizeof clear);
      if (asked.empty() || asked.back() != clear.request.index) asked.push_back(clear.request.index);
      for (std::uint64_t& done = done_[{peer, clear.request.index}]; done < clear.granted;) {
        const DataHeader header{done, std::min<std::uint64_t>(32768, clear.granted - done)};
        std::memcpy(fragment.data(), &header, sizeof header);
        done += header.size;
        Message arrival;
        detail::MessageAccess::set_view(arrival, Operation::active_message, peer, 0, fragment.data(),
                                        sizeof header + header.size, nullptr, 0);
        messages_.receiver().on_data(word_of(clear.transfer), arrival, device_.sink);
      }
    }
    return asked;
  }
  [[nodiscard]] std::size_t answers(Channel channel) const {
    return static_cast<std::size_t>(std::count_if(
        device_.port.sent.begin(), device_.port.sent.end(),
        [&](const auto& sent) { return sent.outgoing.channel == static_cast<std::uint8_t>(channel); }));
  }
  [[nodiscard]] std::vector<std::string> states() const {
    PendingList list(100);
    messages_.describe(list);
    std::vector<std::string> found;
    for (const PendingOperation& operation : list.operations()) found.emplace_back(operation.state);
    return found;
  }

  Supply supply_;
  Device device_{64, kBound};
  Ended ended_;
  const RemoteCompletion remote_ = device_.exposures.expose(ended_, 3, 0);
  Rendezvous messages_{device_.context};

 private:
  std::map<int, std::size_t> seen_;
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> done_;
};

TEST_F(LargeAdmission, gives_buffers_within_the_bound_of_each_peer) {
  for (std::uint32_t request = 0; request < 20; ++request) {
    announce(1, request);
    announce(2, request);
  }
  for (int count = 0; count < 10; ++count) messages_.step({.exclusive = true});
  EXPECT_EQ(supply_.held, 2 * kBound);
  std::vector<std::uint32_t> order;
  while (ended_.count < 20) {
    const int before = ended_.count;
    for (const std::uint32_t request : stream(1))
      if (order.empty() || order.back() != request) order.push_back(request);
    messages_.step({.exclusive = true});
    ASSERT_GT(ended_.count, before) << "something is always under way";
    ASSERT_LE(supply_.held, 2 * kBound) << "the handler keeps nothing";
  }
  std::vector<std::uint32_t> expected(20);
  for (std::uint32_t request = 0; request < 20; ++request) expected[request] = request;
  EXPECT_EQ(order, expected) << "in the order of their announcements";
  EXPECT_EQ(supply_.held, kBound) << "what rank 2 has not sent";
  EXPECT_EQ(device_.sink.rejected, 0);
}

TEST_F(LargeAdmission, fetches_one_message_however_large) {
  announce(1, 0, 8 * kBound);
  announce(1, 1, 8 * kBound);
  for (int count = 0; count < 10; ++count) messages_.step({.exclusive = true});
  EXPECT_EQ(supply_.held, 8 * kBound);
  while (ended_.count < 2) {
    stream(1);
    messages_.step({.exclusive = true});
    ASSERT_LE(supply_.held, 16 * kBound);
  }
}

TEST_F(LargeAdmission, does_not_let_urgent_messages_wait_for_others) {
  for (std::uint32_t request = 0; request < 10; ++request) announce(1, request, kSize, MessageClass::bulk);
  messages_.step({.exclusive = true});
  ASSERT_EQ(supply_.held, kBound);
  announce(1, 10);
  announce(1, 11, kSize, MessageClass::control);
  messages_.step({.exclusive = true});
  EXPECT_EQ(supply_.held, kBound + 2 * kSize);
}

TEST_F(LargeAdmission, a_full_allocator_stops_its_own_messages_only_and_is_asked_again) {
  Supply other_supply;
  Ended other;
  other.set_allocator(other_supply);
  const RemoteCompletion to_other = device_.exposures.expose(other, 4, 0);
  supply_.has_room = false;
  for (std::uint32_t request = 0; request < 10; ++request) announce(1, request);
  announce(1, 10, kSize, MessageClass::normal, word(to_other));
  messages_.step({.exclusive = true});
  EXPECT_EQ(other_supply.held, kSize);
  EXPECT_LE(supply_.asked, 10);
  const auto now = states();
  EXPECT_GE(std::count_if(now.begin(), now.end(),
                          [](const std::string& state) { return state.starts_with("no memory"); }),
            1);
  supply_.has_room = true;
  messages_.step({.exclusive = true});
  EXPECT_EQ(supply_.held, kBound - kSize);
  while (ended_.count + other.count < 11) {
    stream(1);
    messages_.step({.exclusive = true});
  }
  EXPECT_EQ(answers(Channel::refused), 0U);
}

TEST_F(LargeAdmission, what_never_has_room_is_refused_and_told) {
  supply_.has_room = false;
  supply_.largest = kSize - 1;
  testing::internal::CaptureStderr();
  for (std::uint32_t request = 0; request < 10; ++request) announce(1, request);
  messages_.step({.exclusive = true});
  messages_.step({.exclusive = true});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("262144 bytes from rank 1: too large for this test"), std::string::npos) << log;
  EXPECT_EQ(answers(Channel::refused), 10U);
  EXPECT_EQ(device_.counters.refused_messages, 10U);
  EXPECT_TRUE(states().empty());
  std::vector<std::string> notes;
  messages_.receiver().admission().describe_refusals(notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("262144 bytes from rank 1"), std::string::npos) << notes[0];
}

TEST_F(LargeAdmission, a_refusal_ends_the_message_at_its_sender) {
  std::vector<std::byte> payload(5000);
  Ended sent;
  network::SendResult result{};
  ASSERT_EQ(messages_.start(
                {1, 0, Channel::rts, 0, nullptr, payload, Operation::active_message_sent, 0, &sent, nullptr},
                {.exclusive = true}, result),
            Rendezvous::Start::started);
  const auto refuse = [&](int peer) {
    const RequestName name{0, 1};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, peer, 0,
                                    reinterpret_cast<const std::byte*>(&name), sizeof name, nullptr, 0);
    messages_.sender().on_refused(arrival, device_.sink);
  };
  refuse(2);
  EXPECT_EQ(device_.sink.rejected, 1) << "not the peer's to refuse";
  EXPECT_EQ(sent.count, 0);
  refuse(1);
  EXPECT_EQ(sent.count, 1);
  EXPECT_EQ(sent.outcome, Outcome::refused);
  refuse(1);
  EXPECT_EQ(sent.count, 1);
  EXPECT_EQ(messages_.outstanding(), 0U);
}

TEST_F(LargeAdmission, more_bytes_than_can_be_announced_are_refused_at_once) {
  Ended sent;
  network::SendResult result{};
  const std::byte byte{};
  ASSERT_EQ(messages_.start({1,
                             0,
                             Channel::rts,
                             0,
                             nullptr,
                             {&byte, std::size_t{1} << 63},
                             Operation::active_message_sent,
                             0,
                             &sent,
                             nullptr},
                            {.exclusive = true}, result),
            Rendezvous::Start::started);
  EXPECT_EQ(sent.count, 1);
  EXPECT_EQ(sent.outcome, Outcome::refused);
  EXPECT_TRUE(device_.port.sent.empty());
  EXPECT_EQ(messages_.outstanding(), 0U);
}

TEST_F(LargeAdmission, waiting_messages_can_be_withdrawn) {
  for (std::uint32_t request = 0; request < 6; ++request) announce(1, request);
  messages_.step({.exclusive = true});
  ASSERT_EQ(supply_.held, kBound);
  messages_.forget_unexpected(1, {{5, 1}, 0, 0});
  messages_.forget_unexpected(1, {{0, 1}, 0, 0});
  messages_.step({.exclusive = true});
  messages_.step({.exclusive = true});
  EXPECT_EQ(answers(Channel::cancelled), 1U) << "the other one is being fetched";
  while (ended_.count < 5) {
    stream(1);
    messages_.step({.exclusive = true});
  }
  EXPECT_TRUE(states().empty());
}

TEST_F(LargeAdmission, waiting_messages_of_a_peer_that_has_left_are_forgotten) {
  for (std::uint32_t request = 0; request < 8; ++request) announce(1, request);
  announce(2, 0);
  messages_.step({.exclusive = true});
  device_.port.on_gone = [](int peer) { return peer == 1; };
  messages_.complete_lost_operations(test::all_is_over.data());
  messages_.step({.exclusive = true});
  EXPECT_EQ(supply_.held, kSize) << "of rank 2";
  EXPECT_EQ(states().size(), 1U);
  stream(2);
  EXPECT_EQ(ended_.count, 1);
  EXPECT_EQ(supply_.held, 0U);
}

}  // namespace
}  // namespace weft::core
