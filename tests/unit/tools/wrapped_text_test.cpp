#include "common/wrapped_text.hpp"

#include <gtest/gtest.h>

namespace weft::tools {
namespace {

TEST(WrappedText, breaks_at_blanks_and_indents_what_follows) {
  EXPECT_EQ(wrapped("a: ", "one two three", 10), "a: one two\n   three\n");
  EXPECT_EQ(wrapped("a: ", "one two", 10), "a: one two\n");
  EXPECT_EQ(wrapped("", "", 10), "\n");
}

TEST(WrappedText, breaks_words_that_are_longer_than_a_line) {
  EXPECT_EQ(wrapped("> ", "abcdefghij", 6), "> abcd\n  efgh\n  ij\n");
  EXPECT_EQ(wrapped("> ", "ab cdefghij", 6), "> ab\n  cdef\n  ghij\n");
}

}  // namespace
}  // namespace weft::tools
