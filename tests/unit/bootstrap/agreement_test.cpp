#include "bootstrap/agreement.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::bootstrap {
namespace {

std::string statement(const char* host, const char* network, const char* size) {
  Statement statement(host);
  statement.add("network (WEFT_NETWORK)", network);
  statement.add("packet_size (WEFT_PACKET_SIZE)", size);
  return statement.text();
}

TEST(Agreement, has_nothing_to_say_of_equal_statements_of_ranks_on_any_host) {
  Agreement agreement;
  EXPECT_EQ(agreement.state(3, statement("a", "tcp", "8K")), "");
  EXPECT_EQ(agreement.state(0, statement("a", "tcp", "8K")), "");
  EXPECT_EQ(agreement.state(1, statement("b", "tcp", "8K")), "");
  EXPECT_EQ(agreement.state(2, statement("b", "tcp", "8K")), "");
}

TEST(Agreement, names_both_ranks_and_every_value_in_which_they_differ) {
  Agreement agreement;
  EXPECT_EQ(agreement.state(0, statement("a", "tcp", "8K")), "");
  EXPECT_EQ(agreement.state(1, statement("b", "tcp", "16K")),
            "rank 1 on b has packet_size (WEFT_PACKET_SIZE) 16K; rank 0 on a has packet_size "
            "(WEFT_PACKET_SIZE) 8K: all "
            "ranks must have the same");
  EXPECT_EQ(agreement.state(2, statement("c", "shm", "")),
            "rank 2 on c has network (WEFT_NETWORK) shm, packet_size (WEFT_PACKET_SIZE) \"\"; rank 0 on a "
            "has network "
            "(WEFT_NETWORK) tcp, packet_size (WEFT_PACKET_SIZE) 8K: all ranks must have the same");
  EXPECT_EQ(agreement.state(3, statement("c", "tcp", "8K")), "");
}

TEST(Agreement, tells_of_what_only_one_of_them_knows) {
  Agreement agreement;
  Statement more("a");
  more.add("network (WEFT_NETWORK)", "tcp");
  more.add("packet_size (WEFT_PACKET_SIZE)", "8K");
  more.add("encrypt (WEFT_ENCRYPT)", "yes");
  EXPECT_EQ(agreement.state(0, more.text()), "");
  EXPECT_EQ(agreement.state(1, statement("b", "tcp", "8K")),
            "rank 1 on b has no encrypt (WEFT_ENCRYPT); rank 0 on a has encrypt (WEFT_ENCRYPT) yes: all "
            "ranks must have "
            "the same");
}

TEST(Agreement, does_not_take_what_is_no_statement) {
  for (const std::string& bytes :
       {std::string(), std::string("tcp"), std::string("a\0b\0", 4), std::string(100000, '\0')}) {
    Agreement agreement;
    EXPECT_NE(agreement.state(0, bytes).find("in a form that is not known"), std::string::npos);
    EXPECT_EQ(agreement.state(1, statement("a", "tcp", "8K")), "");
    EXPECT_NE(agreement.state(2, bytes), "");
  }
}

TEST(Agreement, keeps_fields_apart_whatever_they_hold) {
  Statement odd("a");
  odd.add("one", std::string_view("x\0two\0y", 7));
  Statement plain("a");
  plain.add("one", "x");
  EXPECT_EQ(odd.text(), plain.text());
}

}  // namespace
}  // namespace weft::bootstrap
