#include "base/text/hex.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

TEST(Hex, comes_back_for_every_byte) {
  std::vector<std::byte> all;
  for (int value = 0; value < 256; ++value) all.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(to_hex(all).substr(0, 8), "00010203");
  EXPECT_EQ(from_hex(to_hex(all)), all);
  EXPECT_EQ(from_hex(""), std::vector<std::byte>());
}

TEST(Hex, refuses_other_texts) {
  for (const char* text : {"0", "0g", "0A", "g0", " 00", "00 "})
    EXPECT_FALSE(from_hex(text).has_value()) << text;
}

}  // namespace
}  // namespace weft::base
