// Cards as launchers carry them: in one size, and as text.
#include "bootstrap/launchers/sized_card.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::bootstrap::contact {
namespace {

TEST(SizedCard, gives_back_what_it_was_made_of) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMostBytes}) {
    const std::vector<std::byte> card(size, std::byte{0xa7});
    EXPECT_EQ(from_sized(to_sized(card)), card) << size;
    EXPECT_EQ(from_published(to_published(card)), card) << size;
    EXPECT_FALSE(to_published(card).empty());
  }
}

TEST(SizedCard, refuses_lengths_that_it_has_no_bytes_for) {
  SizedCard card;
  card.bytes = kMostBytes + 1;
  EXPECT_FALSE(from_sized(card).has_value());
}

TEST(SizedCard, refuses_text_that_no_rank_has_published) {
  EXPECT_FALSE(from_published("").has_value());
  EXPECT_FALSE(from_published("00ff").has_value());
  EXPECT_FALSE(from_published("w0").has_value()) << "half a byte";
  EXPECT_FALSE(from_published("wzz").has_value());
  EXPECT_FALSE(from_published("w" + std::string(2 * (kMostBytes + 1), '0')).has_value()) << "too long";
}

}  // namespace
}  // namespace weft::bootstrap::contact
