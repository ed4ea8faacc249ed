#include "core/backlog/backlog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace weft::core {
namespace {

/// Accepts so many posts for each peer, and notes them.
class Network final : public PostRetry {
 public:
  Status post_again(PendingPost& post, Caller) noexcept override {
    if (room[post.peer] == 0) return Status::retry(refusal);
    --room[post.peer];
    accepted.push_back(post.options.tag);
    return Status::done();
  }
  std::map<int, int> room;
  Reason refusal = Reason::no_slot;
  std::vector<std::uint32_t> accepted;
};

bool add(Backlog& backlog, int peer, std::uint32_t tag, bool from_handler = false) {
  PendingPost* post = backlog.take(peer, from_handler);
  if (post == nullptr) return false;
  post->options.tag = tag;
  backlog.add(*post);
  return true;
}

TEST(Backlog, retries_in_order_and_peer_by_peer) {
  Backlog backlog(3, 100, 10);
  for (const std::uint32_t tag : {1U, 2U, 3U}) ASSERT_TRUE(add(backlog, 1, tag));
  for (const std::uint32_t tag : {11U, 12U}) ASSERT_TRUE(add(backlog, 2, tag));
  Network network;
  network.room = {{1, 1}, {2, 5}};
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 3U);
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{1, 11, 12}));
  EXPECT_EQ(backlog.size(), 2U);
  EXPECT_TRUE(backlog.waits_for_room(1));
  EXPECT_FALSE(backlog.waits_for_room(2));
  network.room[1] = 5;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 2U);
  EXPECT_EQ(network.accepted.back(), 3U);
  EXPECT_TRUE(backlog.empty());
  EXPECT_FALSE(backlog.waits_for_room(1));
}

TEST(Backlog, gives_out_what_is_not_wanted_any_more) {
  Backlog backlog(3, 100, 10);
  for (const std::uint32_t tag : {1U, 2U, 3U, 4U}) ASSERT_TRUE(add(backlog, 1, tag, tag == 2));
  ASSERT_TRUE(add(backlog, 2, 11));
  Network network;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 0U);
  EXPECT_TRUE(backlog.waits_for_room(1));
  ASSERT_TRUE(add(backlog, 1, 5));  // still in the list
  std::vector<std::uint32_t> out;
  const auto end = [&](PendingPost& post) { out.push_back(post.options.tag); };
  EXPECT_EQ(backlog.take_out([](const PendingPost& post) { return post.options.tag % 2 == 1; }, end), 4U);
  std::sort(out.begin(), out.end());
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1, 3, 5, 11}));
  EXPECT_EQ(backlog.size(), 2U);
  EXPECT_FALSE(backlog.waits_for_room(2)) << "nothing waits for it";
  ASSERT_TRUE(add(backlog, 1, 6));
  network.room[1] = 10;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 3U);
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{2, 4, 6}));
  EXPECT_TRUE(backlog.empty());
  EXPECT_FALSE(backlog.waits_for_room(1));
}

bool add_in_order(Backlog& backlog, std::uint32_t tag, Operation operation, bool from_handler) {
  PendingPost* post = backlog.take(0, from_handler);
  if (post == nullptr) return false;
  post->operation = operation;
  post->in_order = true;
  post->options.tag = tag;
  backlog.add(*post);
  return true;
}

TEST(Backlog, keeps_the_order_between_posts_of_handlers_and_others_where_it_counts) {
  Backlog backlog(1, 100, 10);
  ASSERT_TRUE(add_in_order(backlog, 1, Operation::send, false));
  ASSERT_TRUE(add_in_order(backlog, 2, Operation::send, true));
  ASSERT_TRUE(add_in_order(backlog, 3, Operation::send, false));
  ASSERT_TRUE(add(backlog, 0, 4, true));
  Network network;
  network.room[0] = 10;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 4U);
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{4, 1, 2, 3}));
}

/// Refuses sends.
class NoRoomForSends final : public PostRetry {
 public:
  Status post_again(PendingPost& post, Caller) noexcept override {
    if (post.operation == Operation::send) return Status::retry(Reason::no_credit);
    accepted.push_back(post.options.tag);
    return Status::done();
  }
  std::vector<std::uint32_t> accepted;
};

TEST(Backlog, lets_no_receive_in_order_wait_for_a_send) {
  Backlog backlog(1, 100, 10);
  ASSERT_TRUE(add_in_order(backlog, 1, Operation::send, false));
  ASSERT_TRUE(add_in_order(backlog, 2, Operation::receive, false));
  ASSERT_TRUE(add_in_order(backlog, 3, Operation::receive, true));
  NoRoomForSends network;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 2U);
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(backlog.size(), 1U);
}

TEST(Backlog, is_bounded_for_each_peer_but_for_handlers) {
  Backlog backlog(2, 100, 3);
  for (std::uint32_t tag = 0; tag < 3; ++tag) EXPECT_TRUE(add(backlog, 0, tag));
  EXPECT_FALSE(add(backlog, 0, 3));
  EXPECT_TRUE(add(backlog, 1, 3)) << "another peer";
  EXPECT_TRUE(add(backlog, 0, 4, true)) << "a handler cannot wait";
}

TEST(Backlog, is_bounded_in_total) {
  Backlog backlog(1, 4, 1000);
  std::uint32_t added = 0;
  while (add(backlog, 0, added, true)) ASSERT_LT(++added, 100U);
  EXPECT_EQ(added, 12U) << "three times the limit";
  EXPECT_TRUE(backlog.over_limit());
  Network network;
  network.room[0] = 8;
  backlog.work(network, {.exclusive = false});
  EXPECT_FALSE(backlog.over_limit());
  EXPECT_TRUE(add(backlog, 0, added));
}

TEST(Backlog, keeps_room_for_handlers_that_others_cannot_take) {
  Backlog backlog(1, 4, 1000);
  std::uint32_t added = 0;
  while (add(backlog, 0, added)) ASSERT_LT(++added, 100U);
  EXPECT_EQ(added, 4U) << "the limit";
  EXPECT_FALSE(backlog.over_limit()) << "handlers may still run";
  while (add(backlog, 0, added, true)) ASSERT_LT(++added, 100U);
  EXPECT_EQ(added, 12U) << "three times the limit";
  EXPECT_TRUE(backlog.over_limit());
  EXPECT_TRUE(backlog.almost_full());
}

TEST(Backlog, only_lets_others_wait_behind_what_waits_for_room) {
  Backlog backlog(1, 10, 10);
  ASSERT_TRUE(add(backlog, 0, 1));
  Network network;
  network.refusal = Reason::no_credit;  // one object's senders are stopped; others on the same lane go on
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 0U);
  EXPECT_FALSE(backlog.waits_for_room(0));
}

bool add_of(Backlog& backlog, MessageClass message_class, std::uint32_t tag, bool in_order = false) {
  PendingPost* post = backlog.take(0, false, message_class);
  if (post == nullptr) return false;
  post->in_order = in_order;
  post->operation = in_order ? Operation::send : Operation::active_message_sent;
  post->options.tag = tag;
  backlog.add(*post);
  return true;
}

/// Has room for some classes only.
class ClassNetwork final : public PostRetry {
 public:
  Status post_again(PendingPost& post, Caller) noexcept override {
    if (post.message_class == full) return Status::retry(Reason::no_slot);
    accepted.push_back(post.options.tag);
    return Status::done();
  }
  MessageClass full = MessageClass::normal;
  std::vector<std::uint32_t> accepted;
};

TEST(Backlog, of_one_class_holds_back_no_other) {
  constexpr std::array kClasses{MessageClass::normal, MessageClass::control, MessageClass::bulk};
  for (const MessageClass full : kClasses) {
    Backlog backlog(1, 100, 10);
    for (std::uint32_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(add_of(backlog, kClasses[tag % 3], tag));
    ClassNetwork network;
    network.full = full;
    EXPECT_EQ(backlog.work(network, {.exclusive = false}), 4U);
    for (const MessageClass each : kClasses) EXPECT_EQ(backlog.waits_for_room(0, each), each == full);
    EXPECT_EQ(backlog.size(), 2U);
  }
}

TEST(Backlog, retries_control_first_and_bulk_last) {
  Backlog backlog(1, 100, 10);
  ASSERT_TRUE(add_of(backlog, MessageClass::bulk, 1));
  ASSERT_TRUE(add_of(backlog, MessageClass::normal, 2));
  ASSERT_TRUE(add_of(backlog, MessageClass::control, 3));
  Network network;
  network.room[0] = 3;
  EXPECT_EQ(backlog.work(network, {.exclusive = false}), 3U);
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{3, 2, 1}));
}

TEST(Backlog, keeps_the_order_of_posts_in_order_across_classes) {
  Backlog backlog(1, 100, 10);
  ASSERT_TRUE(add_of(backlog, MessageClass::normal, 1, true));
  ASSERT_TRUE(add_of(backlog, MessageClass::bulk, 2, true));
  ASSERT_TRUE(add_of(backlog, MessageClass::control, 3, true));
  ASSERT_TRUE(add_of(backlog, MessageClass::normal, 4));
  ASSERT_TRUE(add_of(backlog, MessageClass::control, 5));
  ClassNetwork network;
  network.full = MessageClass::bulk;
  backlog.work(network, {.exclusive = false});
  // Whatever is not in order goes on; only posts of the class that has no room have to wait.
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{1, 5, 4}));
  EXPECT_TRUE(backlog.waits_for_room(0, MessageClass::bulk));
  EXPECT_FALSE(backlog.waits_for_room(0, MessageClass::control));
  network.full = MessageClass::normal;
  backlog.work(network, {.exclusive = false});
  EXPECT_EQ(network.accepted, (std::vector<std::uint32_t>{1, 5, 4, 2, 3}));
}

TEST(Backlog, keeps_posts_of_a_class_when_it_is_full_of_another) {
  Backlog backlog(1, 8, 8);
  std::uint32_t kept[3] = {};
  for (const MessageClass each : {MessageClass::normal, MessageClass::bulk, MessageClass::control})
    while (add_of(backlog, each, 0)) ++kept[static_cast<std::size_t>(each)];
  EXPECT_EQ(kept[static_cast<std::size_t>(MessageClass::normal)], 8U);
  EXPECT_EQ(kept[static_cast<std::size_t>(MessageClass::bulk)], 3U);
  EXPECT_EQ(kept[static_cast<std::size_t>(MessageClass::control)], 3U);
  EXPECT_NE(backlog.take(0, true), nullptr) << "handlers always find some";
}

/// A pool of one packet.
class OnePacket final : public detail::PacketSource {
 public:
  [[nodiscard]] Packet take() {
    return std::exchange(is_there_, false) ? Packet{memory_.data(), memory_.size(), 0, this} : Packet{};
  }
  void put_packet(std::uint32_t) noexcept override { is_there_ = true; }

 private:
  std::array<std::byte, 64> memory_{};
  bool is_there_ = true;
};

/// A post without a packet needs one to leave.
TEST(Backlog, that_grows_never_stops_the_handlers) {
  constexpr std::uint32_t kLimit = 4;
  for (const bool grows : {false, true}) {
    Backlog backlog(2, kLimit, kLimit, grows);
    std::uint32_t count = 0;
    while (count < 100 && add(backlog, 1, count, true)) ++count;
    EXPECT_EQ(count, grows ? 100 : 3 * kLimit);
    EXPECT_EQ(backlog.over_limit(), !grows);
    EXPECT_EQ(backlog.almost_full(), !grows);
    Network network;
    network.room[1] = 100;
    EXPECT_EQ(backlog.work(network, {.exclusive = false}), count);
    EXPECT_TRUE(backlog.empty());
  }
}

class NeedsPacket final : public PostRetry {
 public:
  explicit NeedsPacket(OnePacket& pool) : pool_(pool) {}
  Status post_again(PendingPost& post, Caller) noexcept override {
    const Packet own = post.packet ? std::move(post.packet) : pool_.take();
    if (!own) return Status::retry(Reason::no_packet);
    accepted.emplace_back(post.options.tag, post.data[0]);
    return Status::done();
  }
  std::vector<std::pair<std::uint32_t, std::byte>> accepted;

 private:
  OnePacket& pool_;
};

TEST(Backlog, of_posts_that_keep_the_packets_which_those_before_them_need_empties_nevertheless) {
  OnePacket pool;
  Backlog backlog(2, 100, 10);
  std::byte first{1};
  PendingPost* const waiting = backlog.take(1, false);
  waiting->options.tag = 1;
  waiting->data = &first;
  waiting->size = 1;
  backlog.add(*waiting);
  PendingPost* const keeper = backlog.take(1, false);
  keeper->options.tag = 2;
  keeper->packet = pool.take();
  keeper->packet.data()[0] = std::byte{2};
  keeper->data = keeper->packet.data();
  keeper->size = 1;
  backlog.add(*keeper);
  NeedsPacket network(pool);
  for (int turn = 0; turn < 1000 && !backlog.empty(); ++turn) backlog.work(network, {.exclusive = false});
  EXPECT_TRUE(backlog.empty());
  EXPECT_EQ(network.accepted,
            (std::vector<std::pair<std::uint32_t, std::byte>>{{1, std::byte{1}}, {2, std::byte{2}}}));
}

}  // namespace
}  // namespace weft::core
