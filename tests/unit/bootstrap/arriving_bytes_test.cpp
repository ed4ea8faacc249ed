#include "bootstrap/arriving_bytes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace weft::bootstrap {
namespace {

TEST(ArrivingBytes, that_are_announced_take_no_memory_to_speak_of) {
  ArrivingBytes bytes;
  bytes.expect(std::size_t{1} << 40);
  EXPECT_EQ(bytes.room().size(), ArrivingBytes::kFirst);
  EXPECT_FALSE(bytes.is_complete());
}

TEST(ArrivingBytes, have_room_for_no_more_than_have_come_and_never_for_more_than_were_announced) {
  constexpr std::size_t kLength = 1'000'003;
  ArrivingBytes bytes;
  bytes.expect(kLength);
  std::size_t came = 0;
  while (!bytes.is_complete()) {
    const auto room = bytes.room();
    ASSERT_FALSE(room.empty());
    ASSERT_LE(room.size(), came < ArrivingBytes::kFirst ? ArrivingBytes::kFirst : came);
    ASSERT_LE(came + room.size(), kLength);
    const std::size_t count = room.size() > 7 ? room.size() - 7 : room.size();  // a read that ends before
    for (std::size_t next = 0; next < count; ++next) room[next] = static_cast<std::byte>((came + next) * 31);
    bytes.came(count);
    came += count;
  }
  EXPECT_TRUE(bytes.room().empty());
  const std::vector<std::byte> all = bytes.take();
  ASSERT_EQ(all.size(), kLength);
  for (std::size_t next = 0; next < kLength; ++next)
    ASSERT_EQ(all[next], static_cast<std::byte>(next * 31)) << next;
}

TEST(ArrivingBytes, of_length_0_are_complete_at_once) {
  ArrivingBytes bytes;
  bytes.expect(0);
  EXPECT_TRUE(bytes.is_complete());
  EXPECT_TRUE(bytes.room().empty());
  EXPECT_TRUE(bytes.take().empty());
}

TEST(ArrivingBytes, begin_anew_after_they_were_taken) {
  ArrivingBytes bytes;
  for (std::size_t length : {std::size_t{3}, std::size_t{5000}, std::size_t{1}}) {
    bytes.expect(length);
    while (!bytes.is_complete()) {
      const auto room = bytes.room();
      std::memset(room.data(), static_cast<int>(length % 251), room.size());
      bytes.came(room.size());
    }
    EXPECT_EQ(bytes.take(), std::vector<std::byte>(length, static_cast<std::byte>(length % 251)));
  }
}

}  // namespace
}  // namespace weft::bootstrap
