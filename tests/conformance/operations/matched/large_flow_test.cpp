// Many large active messages at once: how much memory they take, that they all arrive, and what ends those
// for which there is none.
#include "core/runtime/runtime_state.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

constexpr std::size_t kBound = std::size_t{1} << 20;

/// The heap, with an account of what is in use; or nothing.
class Account final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    if (!has_room) return nullptr;
    used += size;
    most = std::max(most, used);
    return detail::heap_payloads().allocate(size);
  }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override {
    used -= size;
    detail::heap_payloads().release(data, size, cookie);
  }
  [[nodiscard]] const char* refusal(std::size_t size) const noexcept override {
    return size > largest ? "more than this test allows" : nullptr;
  }
  bool has_room = true;
  std::size_t largest = ~std::size_t{0};
  std::size_t used = 0;
  std::size_t most = 0;
};

class LargeFlow : public testing::TestWithParam<const char*> {
 protected:
  void post(int from, int count, std::size_t size, Completion& sent) {
    for (int number = 0; number < count; ++number) {
      payloads_.push_back(payload(size, static_cast<std::uint64_t>(number)));
      ASSERT_TRUE(ranks_
                      .post(from, 0, remote_, payloads_.back(),
                            {.completion = &sent, .tag = static_cast<std::uint32_t>(number)})
                      .has_value());
    }
  }
  std::vector<std::vector<std::byte>> payloads_;  // borrowed until the ranks have ended
  Account account_;
  Ranks<Endpoint> ranks_{3, {{"rendezvous", GetParam()}, {"rendezvous_bytes", "1M"}}};
  CompletionQueue queue_;
  RemoteCompletion remote_;
};
INSTANTIATE_TEST_SUITE_P(rendezvous, LargeFlow, testing::Values("copy", "read", "auto"),
                         [](const auto& rendezvous) { return rendezvous.param; });

TEST_P(LargeFlow, many_at_once_take_the_memory_of_a_few_and_no_sender_is_left_behind) {
  constexpr int kCount = 150;
  constexpr std::size_t kSize = std::size_t{256} << 10;
  queue_.set_allocator(account_);
  remote_ = ranks_.runtime(0).expose(queue_, {.id = 1});
  ASSERT_TRUE(ranks_.meet());
  Counter sent[2];
  // The same payloads for both senders; all are announced before the receiver takes the first.
  account_.has_room = false;
  for (int number = 0; number < kCount; ++number)
    payloads_.push_back(payload(kSize, static_cast<std::uint64_t>(number)));
  for (int number = 0; number < kCount; ++number)
    for (int from = 1; from <= 2; ++from)
      ASSERT_TRUE(test::until(
          [&] {
            return ranks_.endpoint(from)
                .post_am(0, remote_, payloads_[static_cast<std::size_t>(number)],
                         {.completion = &sent[from - 1], .tag = static_cast<std::uint32_t>(number)})
                .is_accepted();
          },
          [&] { ranks_.progress(); }));
  account_.has_room = true;
  std::vector<int> arrived(3);
  std::vector<std::vector<bool>> seen(3, std::vector<bool>(kCount));
  ASSERT_TRUE(ranks_.progress_until([&] {
    Message message;
    while (queue_.pop(message)) {
      const auto peer = static_cast<std::size_t>(message.peer());
      EXPECT_TRUE(message.tag() < kCount && !seen[peer][message.tag()]);
      seen[peer][message.tag()] = true;
      EXPECT_TRUE(message.size() == kSize && matches({message.data(), message.size()}, message.tag()));
      if (++arrived[peer] == kCount && arrived[3 - peer] < kCount) {
        // Senders over networks of different speeds share what the receiver has, and not the time.
        const bool is_mixed = std::string_view(ranks_.runtime(0).network()) == "mixed";
        EXPECT_GT(arrived[3 - peer], is_mixed ? 0 : kCount / 4);
      }
    }
    return arrived[1] == kCount && arrived[2] == kCount;
  }));
  EXPECT_TRUE(ranks_.progress_until([&] { return sent[0].value() == kCount && sent[1].value() == kCount; }));
  // Of each sender the bound is under way, and as much may have come since the queue was looked at last.
  EXPECT_LE(account_.most, 2 * 2 * (kBound + kSize));
  EXPECT_EQ(account_.used, 0U);
}

TEST_P(LargeFlow, a_program_may_keep_all_that_has_arrived) {
  constexpr int kCount = 40;
  queue_.set_allocator(account_);
  remote_ = ranks_.runtime(0).expose(queue_, {.id = 1});
  ASSERT_TRUE(ranks_.meet());
  Counter sent;
  post(1, kCount, kBound, sent);
  std::vector<Message> kept;
  ASSERT_TRUE(ranks_.progress_until([&] {
    Message message;
    while (queue_.pop(message)) kept.push_back(message.take());
    return kept.size() == kCount;
  }));
  EXPECT_EQ(account_.used, kCount * kBound);
  for (const Message& message : kept) EXPECT_TRUE(matches({message.data(), message.size()}, message.tag()));
  EXPECT_TRUE(ranks_.progress_until([&] { return sent.value() == kCount; }));
  kept.clear();
  EXPECT_EQ(account_.used, 0U);
}

TEST_P(LargeFlow, without_room_messages_wait_and_are_explained) {
  account_.has_room = false;
  queue_.set_allocator(account_);
  CompletionQueue other;
  remote_ = ranks_.runtime(0).expose(queue_, {.id = 1});
  const RemoteCompletion to_other = ranks_.runtime(0).expose(other, {.id = 2});
  ASSERT_TRUE(ranks_.meet());
  Counter sent;
  post(1, 20, 300'000, sent);
  // Another object's messages come all the same.
  ASSERT_TRUE(ranks_.post(1, 0, to_other, payloads_[0], {.completion = &sent}).has_value());
  ASSERT_TRUE(ranks_.progress_until([&] { return other.ready(); }));
  const auto without_memory = [&] {
    core::PendingList list(100);
    std::vector<std::string> notes;
    ranks_.runtime(0).state().describe(list, notes);
    return std::count_if(list.operations().begin(), list.operations().end(), [&](const auto& operation) {
      return operation.kind == core::PendingKind::arrival && operation.size == 300'000 &&
             operation.completion == &queue_ &&
             std::string(operation.state).find("no memory") != std::string::npos;
    });
  };
  EXPECT_TRUE(ranks_.progress_until([&] { return without_memory() == 20; }));
  EXPECT_FALSE(queue_.ready());
  account_.has_room = true;
  int arrived = 0;
  ASSERT_TRUE(ranks_.progress_until([&] {
    Message message;
    while (queue_.pop(message)) {
      EXPECT_TRUE(matches({message.data(), message.size()}, message.tag()));
      ++arrived;
    }
    return arrived == 20 && sent.value() == 21;
  }));
}

TEST_P(LargeFlow, what_an_allocator_refuses_for_good_ends_at_both_sides) {
  account_.has_room = false;
  account_.largest = 0;
  queue_.set_allocator(account_);
  remote_ = ranks_.runtime(0).expose(queue_, {.id = 1});
  ASSERT_TRUE(ranks_.meet());
  Recorder sent;
  testing::internal::CaptureStderr();
  post(1, 10, 300'000, sent);
  EXPECT_TRUE(ranks_.progress_until([&] { return sent.messages.size() == 10; }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("300000 bytes from rank 1: more than this test allows"), std::string::npos) << log;
  for (const Message& message : sent.messages) EXPECT_EQ(message.outcome(), Outcome::refused);
  EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 10U);
  EXPECT_FALSE(queue_.ready());
}

TEST_P(LargeFlow, what_no_memory_of_the_host_holds_is_refused) {
  remote_ = ranks_.runtime(0).expose(queue_, {.id = 1});
  ASSERT_TRUE(ranks_.meet());
  // Nobody reads so many bytes: they are announced, or not even that.
  const std::byte byte{};
  for (const int shift : {50, 61, 63}) {
    Recorder sent;
    ASSERT_TRUE(
        ranks_.post(1, 0, remote_, {&byte, std::size_t{1} << shift}, {.completion = &sent}).has_value());
    ASSERT_TRUE(ranks_.progress_until([&] { return !sent.messages.empty(); })) << shift;
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::refused);
  }
  EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 2U);
  EXPECT_FALSE(queue_.ready());
  // Lengths that are none, -1 among them, do not become short ones with what travels behind the payload.
  for (const std::size_t length : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2}) {
    Recorder sent;
    ASSERT_TRUE(ranks_.endpoint(1)
                    .post_send(0, 8, Bytes{&byte, length}, {.completion = &sent, .may_retry = false})
                    .is_accepted());
    ASSERT_TRUE(ranks_.progress_until([&] { return !sent.messages.empty(); })) << length;
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::refused);
  }
  // A receive has its buffer.
  std::vector<std::byte> room(200'000);
  const auto bytes = payload(room.size(), 9);
  Recorder received;
  Recorder sent;
  ASSERT_TRUE(ranks_.endpoint(0).post_receive(1, 5, room, {.completion = &received}).is_accepted());
  ASSERT_TRUE(test::until(
      [&] { return ranks_.endpoint(1).post_send(0, 5, bytes, {.completion = &sent}).is_accepted(); },
      [&] { ranks_.progress(); }));
  ASSERT_TRUE(ranks_.progress_until([&] { return !received.messages.empty() && !sent.messages.empty(); }));
  EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
  EXPECT_TRUE(matches(room, 9));
}

}  // namespace
}  // namespace weft
