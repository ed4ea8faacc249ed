#include "core/protocol/protocol_select.hpp"

#include "core/protocol/wire.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

TEST(Select, takes_the_first_protocol_that_a_payload_fits) {
  constexpr Limits limits{432, 8192};
  EXPECT_EQ(select(0, limits), Protocol::inject);
  EXPECT_EQ(select(432, limits), Protocol::inject);
  EXPECT_EQ(select(433, limits), Protocol::eager);
  EXPECT_EQ(select(8192, limits), Protocol::eager);
  EXPECT_EQ(select(8193, limits), Protocol::rendezvous);
  EXPECT_EQ(select(std::size_t{1} << 40, limits), Protocol::rendezvous);
}

TEST(Wire, names_of_requests_travel_in_a_word) {
  constexpr RequestName name{0xfffffffe, 0x80000001};
  EXPECT_EQ(name_of(word_of(name)).index, name.index);
  EXPECT_EQ(name_of(word_of(name)).generation, name.generation);
}

}  // namespace
}  // namespace weft::core
