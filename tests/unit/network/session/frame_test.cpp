// Frames of message networks: only those of the right form are taken.
#include "network/session/link/message_format.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft::network::session {
namespace {

void append(std::vector<std::byte>& frame, std::uint32_t bytes) {
  const FrameRecord record{7, bytes, 1, {}};
  const std::size_t place = frame.size();
  frame.resize(place + bytes_in_frame(bytes));
  std::memcpy(frame.data() + place, &record, sizeof record);
}

TEST(Frames, count_their_messages) {
  std::vector<std::byte> frame;
  for (const std::uint32_t bytes : {0U, 1U, 16U, 17U, 512U}) append(frame, bytes);
  EXPECT_EQ(frame.size(), 5 * sizeof(FrameRecord) + 0 + 16 + 16 + 32 + 512);
  EXPECT_EQ(messages_in_frame(frame), 5U);
}

TEST(Frames, that_end_within_a_message_have_a_wrong_form) {
  std::vector<std::byte> frame;
  append(frame, 8);
  append(frame, 40);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const bool is_whole = size == bytes_in_frame(8);
    EXPECT_EQ(messages_in_frame({frame.data(), size}), is_whole ? 1U : 0U) << size;
  }
}

TEST(Frames, with_an_impossible_length_have_a_wrong_form) {
  for (const std::uint32_t bytes : {17U, 0x7fffffffU, 0xfffffff0U, 0xffffffffU}) {
    std::vector<std::byte> frame;
    append(frame, 16);
    const FrameRecord record{7, bytes, 1, {}};
    std::memcpy(frame.data(), &record, sizeof record);
    EXPECT_EQ(messages_in_frame(frame), 0U) << bytes;
  }
}

}  // namespace
}  // namespace weft::network::session
