#include "base/host/host_id.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

namespace weft::base {
namespace {

TEST(HostId, is_empty_unless_it_is_set) { EXPECT_EQ(host_id_of_rank("auto", 3), ""); }

TEST(HostId, is_the_text_of_the_attribute) {
  EXPECT_EQ(host_id_of_rank("node17.example", 3), "node17.example");
}

TEST(HostId, may_depend_on_the_rank) {
  EXPECT_EQ(host_id_of_rank("h%r", 5), "h5");
  EXPECT_EQ(host_id_of_rank("h%r/2", 5), "h2");
  EXPECT_EQ(host_id_of_rank("h%r%2", 5), "h1");
  EXPECT_EQ(host_id_of_rank("%r%16-%r/16", 35), "3-2");
  EXPECT_EQ(host_id_of_rank("%r/", 5), "5/");
  EXPECT_EQ(host_id_of_rank("100%", 5), "100%");
}

TEST(HostId, is_refused_when_it_is_too_long_or_divides_by_zero) {
  EXPECT_EQ(host_id_of_rank(std::string(63, 'x'), 0).size(), 63U);
  EXPECT_THROW(static_cast<void>(host_id_of_rank(std::string(64, 'x'), 0)), Error);
  EXPECT_THROW(static_cast<void>(host_id_of_rank("h%r/0", 0)), Error);
  EXPECT_THROW(static_cast<void>(host_id_of_rank("h%r%99999999999999", 0)), Error);
}

}  // namespace
}  // namespace weft::base
