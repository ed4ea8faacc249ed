#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>
#include <weft/completion/counter.hpp>
#include <weft/completion/handler.hpp>
#include <weft/completion/queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

namespace weft {
namespace {

constexpr std::uint32_t kHandle = 0x70003;
constexpr std::uint32_t kOther = 0x80001;
constexpr int kPeer = 3;

class ArrivalsTest : public testing::Test {
 protected:
  /// A message with its position as the tag, and as every byte of its payload.
  void write(std::uint64_t position, std::size_t size = 8, std::uint32_t handle = kHandle) {
    detail::Slot& slot = slots_[position];
    slot.word = static_cast<std::uint64_t>(handle) << 32 | position;
    std::memset(slot.payload, static_cast<int>(position), size);
    slot.header.store(detail::slot_header(0, size, detail::kActiveMessageChannel, detail::SlotKind::message));
  }
  void hand_over(Completion& completion) {
    Arrivals arrivals(batch_, {kHandle, &open_, &posted_, 2, 0}, nullptr);
    completion.signal_batch(arrivals);
  }
  [[nodiscard]] bool is_free(std::size_t position) const { return slots_[position].header.load() == 0; }

  std::array<detail::Slot, 8> slots_{};
  detail::SlotBatch batch_{slots_.data(), 7, 0, 0, 100, kPeer, detail::kActiveMessageChannel};
  std::atomic<std::uint32_t> open_{kHandle};
  std::atomic<std::uint32_t> posted_{0};
};

TEST_F(ArrivalsTest, reach_a_handler_in_order_with_their_own_sizes) {
  const std::array<std::size_t, 5> sizes{8, 8, 0, 48, 8};
  for (std::size_t position = 0; position < sizes.size(); ++position) write(position, sizes[position]);
  std::size_t count = 0;
  Handler handler([&](Message& message) noexcept {
    EXPECT_EQ(message.operation(), Operation::active_message);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), kPeer);
    EXPECT_EQ(message.tag(), count);
    EXPECT_EQ(message.user_data(), nullptr);
    EXPECT_FALSE(message.is_owner());
    ASSERT_EQ(message.size(), sizes[count]);
    for (const std::byte byte : message.bytes()) EXPECT_EQ(byte, static_cast<std::byte>(count));
    EXPECT_FALSE(is_free(count));  // until the handler has returned
    ++count;
  });
  hand_over(handler);
  EXPECT_EQ(count, sizes.size());
  for (std::size_t position = 0; position < sizes.size(); ++position) EXPECT_TRUE(is_free(position));
}

TEST_F(ArrivalsTest, end_before_a_message_to_another_object) {
  write(0);
  write(1);
  write(2, 8, kOther);
  int count = 0;
  Handler handler([&](Message&) noexcept { ++count; });
  hand_over(handler);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(batch_.head(), 2U);
  EXPECT_FALSE(is_free(2));
}

TEST_F(ArrivalsTest, end_when_a_handler_has_destroyed_its_object) {
  for (std::uint64_t position = 0; position < 4; ++position) write(position);
  struct Object final : Completion {
    std::atomic<std::uint32_t>* open;
    std::optional<Object>* self;
    int* count;
    Object(std::atomic<std::uint32_t>* entry, std::optional<Object>* own, int* counter)
        : open(entry), self(own), count(counter) {}
    void signal(Message&) noexcept override {
      if (++*count != 2) return;
      *open = 0;
      self->reset();
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }
  };
  std::optional<Object> object;
  int count = 0;
  object.emplace(&open_, &object, &count);
  hand_over(*object);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(batch_.head(), 2U);
}

TEST_F(ArrivalsTest, end_when_handlers_have_filled_the_backlog) {
  for (std::uint64_t position = 0; position < 8; ++position) write(position);
  Handler handler([&](Message&) noexcept { ++posted_; });
  hand_over(handler);
  EXPECT_EQ(batch_.head(), 3U);  // one more than the limit
  posted_ = 0;
  hand_over(handler);
  EXPECT_EQ(batch_.head(), 6U);
}

TEST_F(ArrivalsTest, are_themselves_again_after_a_handler_has_replaced_its_message) {
  for (std::uint64_t position = 0; position < 4; ++position) write(position);
  std::vector<std::uint64_t> tags;
  Handler handler([&](Message& message) noexcept {
    EXPECT_EQ(message.operation(), Operation::active_message);
    EXPECT_EQ(message.peer(), kPeer);
    EXPECT_FALSE(message.is_owner());
    tags.push_back(message.tag());
    if (message.tag() % 2 == 0) {
      detail::MessageAccess::set_view(message, Operation::receive, 9, 77, nullptr, 0, nullptr, 5);
    } else {
      detail::MessageAccess::set_in_place(message, 3);
    }
  });
  hand_over(handler);
  EXPECT_EQ(tags, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST_F(ArrivalsTest, are_pushed_into_a_queue_as_single_ones_are) {
  for (std::uint64_t position = 0; position < 8; ++position) write(position, position % 3 == 0 ? 48 : 8);
  CompletionQueue queue({.initial = 2});  // grows meanwhile
  hand_over(queue);
  Message message;
  for (std::uint64_t position = 0; position < 8; ++position) {
    ASSERT_TRUE(queue.pop(message));
    EXPECT_EQ(message.tag(), position);
    EXPECT_EQ(message.peer(), kPeer);
    EXPECT_TRUE(message.is_owner());
    ASSERT_EQ(message.size(), position % 3 == 0 ? 48U : 8U);
    for (const std::byte byte : message.bytes()) EXPECT_EQ(byte, static_cast<std::byte>(position));
  }
  EXPECT_FALSE(queue.pop(message));
}

TEST_F(ArrivalsTest, are_counted) {
  for (std::uint64_t position = 0; position < 5; ++position) write(position);
  write(5, 8, kOther);
  Counter counter;
  hand_over(counter);
  EXPECT_EQ(counter.value(), 5U);
}

TEST_F(ArrivalsTest, reach_an_object_that_takes_single_ones_one_by_one) {
  struct Object final : Completion {
    std::vector<std::uint64_t> tags;
    void signal(Message& message) noexcept override { tags.push_back(message.tag()); }
    [[nodiscard]] bool ready() const noexcept override { return true; }
  };
  for (std::uint64_t position = 0; position < 3; ++position) write(position);
  Object object;
  hand_over(object);
  EXPECT_EQ(object.tags, (std::vector<std::uint64_t>{0, 1, 2}));
}

/// The same of messages in two slots each, of which the ring below has room for four.
class MultiSlotArrivalsTest : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 100;

  void write(std::uint64_t number, std::size_t size = kSize, std::uint32_t handle = kHandle) {
    detail::Slot& slot = slots_[2 * number];
    slot.word = static_cast<std::uint64_t>(handle) << 32 | number;
    std::memset(slot.payload, static_cast<int>(number + 1), size);  // and so the next slot's header
    slot.header.store(detail::slot_header(0, size, detail::kActiveMessageChannel, detail::SlotKind::message));
  }
  void hand_over(Completion& completion) {
    Arrivals arrivals(batch_, {kHandle, &open_, &posted_, 2, 0}, nullptr);
    completion.signal_batch(arrivals);
  }
  void expect_free_before(std::size_t number) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      EXPECT_EQ(slots_[slot].header.load() == 0, slot < 2 * number) << slot;
  }

  std::array<detail::Slot, 8> slots_{};
  detail::MultiSlotBatch batch_{slots_.data(), 7, 0, 0, 100, kPeer, detail::kActiveMessageChannel, kSize};
  std::atomic<std::uint32_t> open_{kHandle};
  std::atomic<std::uint32_t> posted_{0};
};

TEST_F(MultiSlotArrivalsTest, reach_a_handler_in_order_and_free_all_their_slots) {
  for (std::uint64_t number = 0; number < 4; ++number) write(number);
  std::size_t count = 0;
  Handler handler([&](Message& message) noexcept {
    EXPECT_EQ(message.operation(), Operation::active_message);
    EXPECT_EQ(message.peer(), kPeer);
    EXPECT_EQ(message.tag(), count);
    ASSERT_EQ(message.size(), kSize);
    for (const std::byte byte : message.bytes()) EXPECT_EQ(byte, static_cast<std::byte>(count + 1));
    ++count;
  });
  hand_over(handler);
  EXPECT_EQ(count, 4U);
  expect_free_before(4);
}

TEST_F(MultiSlotArrivalsTest, end_before_another_object_another_size_and_a_full_backlog) {
  for (int what = 0; what < 3; ++what) {
    SCOPED_TRACE(what);
    for (std::uint64_t number = 0; number < 4; ++number) write(number);
    if (what == 0) write(2, kSize, kOther);
    if (what == 1) write(2, kSize - 1);
    posted_ = what == 2 ? 1 : 0;
    batch_.resume_behind({slots_.data(), 7, 0, 0, 100, kPeer, detail::kActiveMessageChannel, kSize});
    int count = 0;
    Handler handler([&](Message&) noexcept {
      ++count;
      if (posted_ != 0) ++posted_;
    });
    hand_over(handler);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(batch_.head(), 4U);
    expect_free_before(2);
  }
}

TEST_F(MultiSlotArrivalsTest, are_kept_by_a_queue_counted_and_taken_one_by_one) {
  for (std::uint64_t number = 0; number < 4; ++number) write(number);
  CompletionQueue queue({.initial = 2});
  hand_over(queue);
  Message message;
  for (std::uint64_t number = 0; number < 4; ++number) {
    ASSERT_TRUE(queue.pop(message));
    EXPECT_EQ(message.tag(), number);
    EXPECT_TRUE(message.is_owner());
    ASSERT_EQ(message.size(), kSize);
    for (const std::byte byte : message.bytes()) EXPECT_EQ(byte, static_cast<std::byte>(number + 1));
  }
  EXPECT_FALSE(queue.pop(message));

  const detail::MultiSlotBatch all{slots_.data(), 7, 0, 0, 100, kPeer, detail::kActiveMessageChannel, kSize};
  for (std::uint64_t number = 0; number < 4; ++number) write(number);
  batch_.resume_behind(all);
  Counter counter;
  hand_over(counter);
  EXPECT_EQ(counter.value(), 4U);

  struct Object final : Completion {
    std::vector<std::uint64_t> tags;
    void signal(Message& one) noexcept override { tags.push_back(one.tag()); }
    [[nodiscard]] bool ready() const noexcept override { return true; }
  };
  for (std::uint64_t number = 0; number < 4; ++number) write(number);
  batch_.resume_behind(all);
  Object object;
  hand_over(object);
  EXPECT_EQ(object.tags, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace weft
