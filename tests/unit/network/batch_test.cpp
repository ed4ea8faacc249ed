// What a network delivers at a time, and what its taker leaves.
#include "network/batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace weft::network {
namespace {

constexpr std::uint8_t kChannel = 9;
constexpr int kPeer = 3;
constexpr std::uint64_t kMask = 15;

/// A ring with messages from its first slot on, whose words are 1, 2, 3 ...
class Ring {
 public:
  Ring(std::uint64_t messages, std::size_t size) : size_(size) {
    const std::uint64_t stride = detail::slots_for(size);
    for (std::uint64_t index = 0; index < messages; ++index) {
      detail::Slot& slot = slots_[index * stride];
      slot.word = index + 1;
      slot.header.store(detail::slot_header(0, size, kChannel, detail::SlotKind::message));
    }
  }
  detail::SlotBatch slots() { return {slots_.data(), kMask, 0, 0, kMask + 1, kPeer, kChannel, size_}; }
  detail::MultiSlotBatch multi_slots() {
    return {slots_.data(), kMask, 0, 0, kMask + 1, kPeer, kChannel, size_};
  }

 private:
  std::array<detail::Slot, kMask + 1> slots_{};
  const std::size_t size_;
};

/// Takes messages until it has taken `most`; returns the words of those taken.
std::vector<std::uint64_t> take(Batch& batch, std::size_t most) {
  std::vector<std::uint64_t> words;
  batch.for_each([&](std::uint8_t channel, std::uint64_t word, Message& message) {
    EXPECT_EQ(channel, kChannel);
    EXPECT_EQ(message.peer(), kPeer);
    EXPECT_EQ(message.tag(), word);
    if (words.size() == most) return false;
    words.push_back(word);
    return true;
  });
  return words;
}

using Words = std::vector<std::uint64_t>;

TEST(NetworkBatch, is_taken_message_by_message_from_slots) {
  Ring ring(3, 8);
  detail::SlotBatch slots = ring.slots();
  Batch batch(slots, nullptr);
  ASSERT_EQ(batch.storage(), Batch::Storage::slots);
  EXPECT_EQ(take(batch, 2), (Words{1, 2}));
  EXPECT_EQ(slots.head(), 2U);
  EXPECT_EQ(take(batch, 2), Words{3});
  EXPECT_EQ(slots.head(), 3U);
}

TEST(NetworkBatch, is_taken_message_by_message_from_several_slots_each) {
  constexpr std::size_t kSize = 100;
  Ring ring(3, kSize);
  detail::MultiSlotBatch slots = ring.multi_slots();
  Batch batch(slots, nullptr);
  ASSERT_EQ(batch.storage(), Batch::Storage::multi_slots);
  EXPECT_EQ(take(batch, 1), Words{1});
  EXPECT_EQ(slots.head(), detail::slots_for(kSize));
  EXPECT_EQ(take(batch, 9), (Words{2, 3}));
}

TEST(NetworkBatch, of_a_single_message_says_whether_it_was_taken) {
  std::array<std::byte, 8> payload{};
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, kPeer, 7, payload.data(),
                                  payload.size(), nullptr, 0);
  Batch batch(kChannel, 7, message);
  ASSERT_EQ(batch.storage(), Batch::Storage::message);
  EXPECT_TRUE(batch.is_taken());
  EXPECT_EQ(take(batch, 0), Words{});
  EXPECT_FALSE(batch.is_taken());
  Batch again(kChannel, 7, message);
  EXPECT_EQ(take(again, 1), Words{7});
  EXPECT_TRUE(again.is_taken());
}

class CountedSlot final : public ReusedSlot {
 public:
  int freed = 0;
  void free() noexcept override { ++freed; }
};

TEST(NetworkBatch, frees_the_slot_of_its_message_once_it_is_asked_to) {
  const std::array<std::byte, 8> copy{};
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, kPeer, 7, copy.data(), copy.size(),
                                  nullptr, 0);
  CountedSlot slot;
  Batch batch(7, message, slot);
  ASSERT_EQ(batch.storage(), Batch::Storage::reused_slot);
  EXPECT_EQ(batch.channel(), detail::kActiveMessageChannel);
  EXPECT_FALSE(batch.is_slot_free());
  EXPECT_EQ(slot.freed, 0);
  batch.free_slot();
  EXPECT_TRUE(batch.is_slot_free());
  EXPECT_TRUE(batch.is_taken());
  EXPECT_EQ(slot.freed, 1);
}

TEST(NetworkBatch, keeps_the_slot_of_its_message_for_takers_to_which_the_storage_does_not_matter) {
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, kPeer, 7, nullptr, 0, nullptr, 0);
  CountedSlot slot;
  Batch batch(7, message, slot);
  batch.for_each([](std::uint8_t, std::uint64_t, Message&) { return true; });
  EXPECT_TRUE(batch.is_taken());
  EXPECT_FALSE(batch.is_slot_free());
}

}  // namespace
}  // namespace weft::network
