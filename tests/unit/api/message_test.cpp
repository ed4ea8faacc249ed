// Messages that a program makes itself, what completion objects make of them, and payloads that leave their
// message.
#include <weft/completion/counter.hpp>
#include <weft/completion/graph.hpp>
#include <weft/completion/handler.hpp>
#include <weft/completion/queue.hpp>
#include <weft/completion/synchronizer.hpp>
#include <weft/message.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

const RemoteCompletion kRemote{7, 3, 2};

/// Owns buffers, and remembers which came back.
class Lender final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override { return new std::byte[size]; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override {
    ++released;
    last_size = size;
    last_cookie = cookie;
    delete[] data;
  }
  int released = 0;
  std::size_t last_size = 0;
  std::uint64_t last_cookie = 0;
};

std::vector<std::byte> bytes_from(std::size_t size, int first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t index = 0; index < size; ++index)
    bytes[index] = static_cast<std::byte>(first + static_cast<int>(index));
  return bytes;
}

bool equal(Bytes one, Bytes other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

template <class Queue>
class MadeMessages : public testing::Test {};
using Queues = testing::Types<SerialCompletionQueue, SingleConsumerQueue, CompletionQueue>;
TYPED_TEST_SUITE(MadeMessages, Queues);

TYPED_TEST(MadeMessages, come_out_of_a_queue_as_they_went_in) {
  TypeParam queue;
  int context = 0;
  for (const std::size_t size : {0U, 8U, 44U, 45U, 48U, 49U, 4000U}) {
    std::vector<std::byte> bytes = bytes_from(size, 1);
    Message made(MessageFields{.operation = Operation::active_message,
                               .outcome = Outcome::truncated,
                               .peer = 11,
                               .tag = 77,
                               .bytes = bytes,
                               .user_data = &context,
                               .device = 255,
                               .remote = kRemote});
    queue.signal(made);
    std::fill(bytes.begin(), bytes.end(), std::byte{0});  // the queue has its own

    Message message;
    ASSERT_TRUE(queue.pop(message));
    EXPECT_EQ(message.operation(), Operation::active_message);
    EXPECT_EQ(message.outcome(), Outcome::truncated);
    EXPECT_EQ(message.peer(), 11);
    EXPECT_EQ(message.tag(), 77U);
    EXPECT_EQ(message.user_data(), &context);
    EXPECT_EQ(message.device(), 255U);
    EXPECT_EQ(message.remote(), kRemote.on_device(255));
    EXPECT_TRUE(equal(message.bytes(), bytes_from(size, 1))) << size;
  }
}

TYPED_TEST(MadeMessages, that_end_an_operation_name_the_programs_buffer) {
  TypeParam queue;
  std::vector<std::byte> buffer = bytes_from(100, 5);
  Message made(MessageFields{.operation = Operation::receive,
                             .peer = 2,
                             .tag = std::uint64_t{1} << 50,
                             .bytes = buffer,
                             .user_data = &queue,
                             .device = 9,
                             .length = 300});
  queue.signal(made);
  Message message;
  ASSERT_TRUE(queue.pop(message));
  EXPECT_EQ(message.data(), buffer.data());
  EXPECT_EQ(message.mutable_data(), buffer.data());
  EXPECT_EQ(message.tag(), std::uint64_t{1} << 50);
  EXPECT_EQ(message.length(), 300U);
  EXPECT_EQ(message.user_data(), &queue);
  EXPECT_EQ(message.device(), 9U);
  EXPECT_EQ(message.remote(), RemoteCompletion());

  Message sent(MessageFields{.operation = Operation::send, .bytes = buffer});
  queue.signal(sent);
  ASSERT_TRUE(queue.pop(message));
  EXPECT_EQ(message.data(), buffer.data());
  EXPECT_EQ(message.mutable_data(), nullptr) << "what was sent need not be memory that may be written";
  EXPECT_TRUE(message.mutable_bytes().empty());
}

TYPED_TEST(MadeMessages, keep_their_handles_where_entries_have_no_room_for_them) {
  TypeParam queue;
  const std::vector<std::byte> bytes = bytes_from(48, 3);
  for (int round = 0; round < 3; ++round)
    for (const RemoteCompletion remote :
         {RemoteCompletion(1, 1, 0), RemoteCompletion(2, 1, 0), RemoteCompletion()}) {
      Message made(MessageFields{.peer = 1, .bytes = bytes, .remote = remote});
      queue.signal(made);
    }
  for (int round = 0; round < 3; ++round)
    for (const RemoteCompletion remote :
         {RemoteCompletion(1, 1, 0), RemoteCompletion(2, 1, 0), RemoteCompletion()}) {
      Message message;
      ASSERT_TRUE(queue.pop(message));
      EXPECT_EQ(message.remote(), remote);
      EXPECT_TRUE(equal(message.bytes(), bytes));
    }
}

TEST(MadeMessage, SignalsEveryKindOfCompletionObject) {
  int context = 0;
  const MessageFields fields{
      .operation = Operation::put, .outcome = Outcome::refused, .peer = 4, .user_data = &context};
  Counter counter;
  Message message(fields);
  counter.signal(message);
  EXPECT_EQ(counter.value(), 1U);

  Synchronizer synchronizer(2);
  message = Message(fields);
  synchronizer.signal(message);
  message = Message(MessageFields{.peer = 5, .user_data = synchronizer.slot(1)});
  synchronizer.signal(message);
  ASSERT_TRUE(synchronizer.ready());
  EXPECT_EQ(synchronizer.messages()[0].outcome(), Outcome::refused);
  EXPECT_EQ(synchronizer.by_slot(1)->peer(), 5);

  int peer = 0;
  Handler handler([&](Message& seen) { peer = seen.peer(); });
  message = Message(fields);
  handler.signal(message);
  EXPECT_EQ(peer, 4);
}

TEST(MadeMessage, EndsANodeOfAGraph) {
  Graph graph;
  Completion* node = nullptr;
  const auto first = graph.add([&](Completion& own) {
    node = &own;
    return Status::posted();
  });
  bool ran = false;
  const auto then = graph.add_function([&] { ran = true; });
  graph.order(first, then);
  graph.start();
  ASSERT_NE(node, nullptr);
  EXPECT_FALSE(ran);
  Message end(MessageFields{.operation = Operation::graph});
  node->signal(end);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(graph.outcome(), Outcome::ok);
}

TEST(MadeMessage, MayOwnItsPayload) {
  Lender lender;
  CompletionQueue queue;
  for (const std::size_t size : {16U, 500U}) {
    std::byte* const data = lender.allocate(size);
    {
      Message made(MessageFields{.peer = 1}, {data, size, &lender, 42});
      queue.signal(made);
      Message message;
      ASSERT_TRUE(queue.pop(message));
      EXPECT_EQ(message.data(), data) << "not copied";
      EXPECT_EQ(message.mutable_data(), data);
      EXPECT_EQ(message.size(), size);
    }
    EXPECT_EQ(lender.last_size, size);
    EXPECT_EQ(lender.last_cookie, 42U);
  }
  EXPECT_EQ(lender.released, 2);
}

TEST(ReleasedPayload, IsWhatTheMessageOwned) {
  Lender lender;
  std::byte* const data = lender.allocate(64);
  Payload payload;
  {
    Message message(MessageFields{.peer = 6, .tag = 9}, {data, 64, &lender, 3});
    payload = message.release();
    EXPECT_EQ(message.size(), 0U);
    EXPECT_EQ(message.peer(), 6);
    EXPECT_EQ(message.tag(), 9U);
  }
  EXPECT_EQ(lender.released, 0);
  EXPECT_EQ(payload.data, data);
  EXPECT_EQ(payload.size, 64U);
  EXPECT_EQ(payload.owner, &lender);
  EXPECT_EQ(payload.cookie, 3U);
  payload.free();
  EXPECT_EQ(lender.released, 1);
}

TEST(ReleasedPayload, OfAViewIsACopy) {
  for (const std::size_t size : {5U, 48U, 5000U}) {
    const std::vector<std::byte> bytes = bytes_from(size, 1);
    Message view(MessageFields{.bytes = bytes});
    const Payload payload = view.release();
    EXPECT_NE(payload.data, bytes.data());
    EXPECT_NE(payload.owner, nullptr);
    EXPECT_TRUE(equal(payload.bytes(), bytes));
    payload.free();
  }
}

TEST(ReleasedPayload, OfTheProgramsBufferHasNoOwner) {
  std::array<std::byte, 8> buffer{};
  Message received(MessageFields{.operation = Operation::receive, .bytes = buffer});
  const Payload payload = received.release();
  EXPECT_EQ(payload.data, buffer.data());
  EXPECT_EQ(payload.owner, nullptr);
  payload.free();
  const Payload none = Message().release();
  EXPECT_EQ(none.size, 0U);
  EXPECT_EQ(none.owner, nullptr);
}

}  // namespace
}  // namespace weft
