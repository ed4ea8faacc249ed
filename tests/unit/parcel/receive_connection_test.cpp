// Messages that come in several: what another rank announces costs no memory before it comes.
#include "study/parcelports/connections/receive_connection.hpp"
#include "study/parcelports/connections/connection_context.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace weft::parcel::ports {
namespace {

constexpr std::size_t kPiece = 4096;

/// Takes no message before the test lets one come, and refuses each post once.
class Transport final : public TwoSided {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 2; }
  int ranks_of_host() const noexcept override { return 2; }
  void allgather(Bytes, std::span<std::byte>) override {}
  bool has_failed(int) const noexcept override { return false; }
  TagPolicy tag_policy() const noexcept override { return TagPolicy::endless; }
  std::uint64_t tags() const noexcept override { return 0; }
  std::size_t header_bytes() const noexcept override { return 256; }
  std::size_t followup_bytes() const noexcept override { return kPiece; }
  void start(HeaderReceiver&, unsigned) override {}
  void stop() override {}
  MutableBytes header_room(Poster&, std::size_t size) override {
    header_.resize(size);
    return header_;
  }
  Posted send_header(int, Poster&, std::size_t, unsigned) override { return Posted::done; }
  Posted send(int, std::uint64_t, Bytes, Poster&, unsigned) override { return Posted::done; }
  Posted receive(int, std::uint64_t, MutableBytes room, Poster& poster, unsigned) override {
    if (std::exchange(refuses_, !refuses_)) return Posted::retry;
    EXPECT_LE(room.size(), kPiece);
    EXPECT_EQ(poster_, nullptr) << "one post at a time";
    room_ = room;
    poster_ = &poster;
    return Posted::pending;
  }
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override {}
  void wake() noexcept override {}

  /// The room that was posted last.
  [[nodiscard]] MutableBytes room() const noexcept { return room_; }
  void end(bool is_ok) { std::exchange(poster_, nullptr)->ended(is_ok, 0); }

 private:
  std::vector<std::byte> header_;
  MutableBytes room_;
  Poster* poster_ = nullptr;
  bool refuses_ = true;
};

/// Keeps what arrives; chunks land one behind the other, or nowhere.
class Messages final : public Receiver {
 public:
  void on_small(int, Bytes) override {}
  bool place(IncomingMessage& message) override {
    if (!wants_chunks) return false;
    for (const std::uint64_t size : message.chunk_sizes) {
      landings.emplace_back(size);
      message.landings.emplace_back(landings.back());
    }
    return true;
  }
  void arrived(std::unique_ptr<IncomingMessage> message) override { arrived_ = std::move(message); }
  void dropped(int, const char*) override {}
  void lost(std::unique_ptr<IncomingMessage>) override { ++lost_; }
  void sent(std::unique_ptr<OutgoingMessage>, bool) override {}
  void failed(int) override {}

  bool wants_chunks = true;
  std::deque<std::vector<std::byte>> landings;
  std::unique_ptr<IncomingMessage> arrived_;
  int lost_ = 0;
};

class ReceiveConnections : public testing::Test {
 protected:
  ReceiveConnections() { context_.receiver = &messages_; }
  void begin(std::uint64_t head_size, std::uint64_t chunks) {
    ReceivedHeader header;
    header.fields.source = 1;
    header.fields.number = ++number_;
    header.fields.head_size = head_size;
    header.fields.chunks = chunks;
    ASSERT_TRUE(context_.tags.begin(1, number_));
    auto connection = std::make_unique<ReceiveConnection>(context_, header);
    connection->begin();
    resume(*connection.release());
  }
  void resume(ReceiveConnection& connection) {
    if (!connection.resume(0)) context_.wait_for_room(connection, 0);
    static_cast<void>(context_.retry(0));
  }
  /// The next follow-up messages have come, with these bytes.
  void come(Bytes bytes) {
    while (!bytes.empty()) {
      const std::size_t size = transport_.room().size();
      ASSERT_LE(size, bytes.size());
      std::copy_n(bytes.begin(), size, transport_.room().begin());
      bytes = bytes.subspan(size);
      transport_.end(true);
      static_cast<void>(context_.retry(0));
    }
  }
  Transport transport_;
  ConnectionContext context_{transport_};
  Messages messages_;
  std::uint64_t number_ = 0;
};

TEST_F(ReceiveConnections, give_what_has_come_in_pieces) {
  const std::vector<std::byte> head = test::payload(300'001, 1);
  const std::vector<std::uint64_t> sizes = {1, 5000, 0, kPiece, 3};
  std::vector<std::uint64_t> many(3000, 2);
  for (const auto& all : {sizes, many}) {
    begin(head.size(), all.size());
    come(head);
    come(std::as_bytes(std::span(all)));
    for (std::size_t chunk = 0; chunk < all.size(); ++chunk) come(test::payload(all[chunk], chunk));
    ASSERT_NE(messages_.arrived_, nullptr);
    EXPECT_TRUE(std::ranges::equal(messages_.arrived_->head, head));
    EXPECT_EQ(messages_.arrived_->chunk_sizes, all);
    for (std::size_t chunk = 0; chunk < all.size(); ++chunk)
      EXPECT_TRUE(test::matches(messages_.landings[chunk], chunk));
    messages_.landings.clear();
    messages_.arrived_.reset();
    EXPECT_EQ(context_.live.load(), 0U);
  }
}

TEST_F(ReceiveConnections, take_no_memory_for_what_is_announced_and_does_not_come) {
  // Far more than this host has: where it were taken, this would not come to its end.
  for (int count = 0; count < 50; ++count) {
    begin(detail::kMostHead, detail::kMostChunks);
    EXPECT_EQ(transport_.room().size(), kPiece);
    transport_.end(false);
    EXPECT_EQ(messages_.lost_, count + 1);
    EXPECT_EQ(context_.live.load(), 0U);
  }
}

TEST_F(ReceiveConnections, keep_no_list_of_what_nobody_wants) {
  messages_.wants_chunks = false;
  begin(1, 3);
  come(test::payload(1, 1));
  const std::vector<std::uint64_t> sizes = {0, 5, std::uint64_t{1} << 62};
  come(std::as_bytes(std::span(sizes)));
  EXPECT_EQ(transport_.room().size(), 5U);
  come(test::payload(5, 1));
  for (int count = 0; count < 10; ++count) {
    EXPECT_EQ(transport_.room().size(), kPiece);
    come(test::payload(kPiece, 1));
  }
  transport_.end(false);
  EXPECT_EQ(context_.live.load(), 0U);
  EXPECT_EQ(messages_.arrived_, nullptr);
}

/// Two workers, each of which tries its own messages again. One of worker 1 has been refused a post.
class OwnRetries : public testing::Test {
 protected:
  OwnRetries() {
    context_.receiver = &messages_;
    context_.start(2);
    ReceivedHeader header;
    header.fields.source = 1;
    header.fields.number = 1;
    header.fields.head_size = 10;
    EXPECT_TRUE(context_.tags.begin(1, 1));
    auto connection = std::make_unique<ReceiveConnection>(context_, header);
    connection->begin();
    EXPECT_FALSE(connection->resume(1));
    context_.wait_for_room(*connection.release(), 1);
  }
  ~OwnRetries() override { transport_.end(false); }
  Transport transport_;
  ConnectionContext context_{transport_, true};
  Messages messages_;
};

TEST_F(OwnRetries, are_of_the_worker_whose_message_it_is) {
  EXPECT_FALSE(context_.retry(0));
  EXPECT_TRUE(transport_.room().empty());
  EXPECT_TRUE(context_.retry(1));
  EXPECT_EQ(transport_.room().size(), 10U);
}

TEST_F(OwnRetries, are_of_others_when_the_worker_does_not_look) {
  int tries = 1;
  while (!context_.retry(0) && tries < 1000) ++tries;
  EXPECT_LT(tries, 1000) << "a worker that sleeps or computes keeps its messages from going on";
  EXPECT_GT(tries, 1);
}

TEST_F(OwnRetries, are_of_threads_that_are_no_workers_at_once) { EXPECT_TRUE(context_.retry(7)); }

}  // namespace
}  // namespace weft::parcel::ports
