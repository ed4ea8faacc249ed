// What a queue hands out is what was put in, whatever its caller's message held before.
#include <weft/completion/queue.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

namespace weft {
namespace {

using detail::MessageAccess;

template <class Queue>
class QueuedMessages : public testing::Test {};
using Queues = testing::Types<SerialCompletionQueue, SingleConsumerQueue, CompletionQueue>;
TYPED_TEST_SUITE(QueuedMessages, Queues);

void push_arrival(Completion& queue, std::uint64_t value) {
  Message message;
  std::array<std::byte, sizeof value> payload{};
  std::memcpy(payload.data(), &value, sizeof value);
  MessageAccess::set_view(message, Operation::active_message, 3, 17, payload.data(), payload.size(), nullptr,
                          0);
  queue.signal(message);
}

void push_receive(Completion& queue, std::span<const std::byte> buffer, Outcome outcome, void* user_data) {
  Message message;
  MessageAccess::set_view(message, Operation::receive, 5, std::uint64_t{1} << 40, buffer.data(),
                          buffer.size(), nullptr, 2 * buffer.size());
  MessageAccess::set_outcome(message, outcome);
  MessageAccess::set_user_data(message, user_data);
  queue.signal(message);
}

TYPED_TEST(QueuedMessages, keep_what_they_are_when_the_same_message_is_popped_into_again) {
  TypeParam queue;
  const std::array<std::byte, 8> buffer{};
  int context = 0;
  push_arrival(queue, 42);
  push_receive(queue, buffer, Outcome::truncated, &context);
  push_arrival(queue, 43);

  Message message;
  ASSERT_TRUE(queue.pop(message));
  EXPECT_EQ(message.operation(), Operation::active_message);
  EXPECT_EQ(message.peer(), 3);
  EXPECT_EQ(message.tag(), 17U);
  EXPECT_TRUE(message.is_owner());
  EXPECT_EQ(message.template as<std::uint64_t>(), 42U);

  ASSERT_TRUE(queue.pop(message));
  EXPECT_EQ(message.operation(), Operation::receive);
  EXPECT_EQ(message.outcome(), Outcome::truncated);
  EXPECT_EQ(message.peer(), 5);
  EXPECT_EQ(message.tag(), std::uint64_t{1} << 40);
  EXPECT_EQ(message.length(), 16U);
  EXPECT_EQ(message.user_data(), &context);
  EXPECT_FALSE(message.is_owner());  // the buffer is the poster's
  EXPECT_EQ(message.mutable_data(), buffer.data());
  const Message moved = std::move(message);
  EXPECT_EQ(moved.data(), buffer.data());

  ASSERT_TRUE(queue.pop(message));
  EXPECT_EQ(message.operation(), Operation::active_message);
  EXPECT_EQ(message.outcome(), Outcome::ok);
  EXPECT_EQ(message.user_data(), nullptr);
  EXPECT_EQ(message.template as<std::uint64_t>(), 43U);
  EXPECT_FALSE(queue.pop(message));
}

}  // namespace
}  // namespace weft
