#include "common/commands/option_values.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "base/text/parse.hpp"

namespace weft::tools {
namespace {

/// What reading throws; "" when it does not.
std::string refusal_of_size(const std::string& text, std::int64_t least, std::int64_t most) {
  try {
    (void)size_value("--bytes", text, least, most);
  } catch (const OptionError& error) {
    return error.what();
  }
  return "";
}

TEST(OptionValues, sizes_are_read_as_the_library_reads_those_of_its_attributes) {
  for (const char* text : {"0",        "7",     "16K",
                           "16k",      "16KiB", "16kB",
                           "3M",       "1g",    "2T",
                           "100B",     "100b",  "9223372036854775807",
                           "",         "K",     "16Q",
                           "16 K",     "-1",    "+1",
                           "1.5M",     "16KB2", "9223372036854775808",
                           "8388608T", "0x10"}) {
    const std::optional<std::int64_t> expected = base::parse_size(text);
    const bool is_size = expected && *expected >= 0;
    EXPECT_EQ(refusal_of_size(text, 0, INT64_MAX).empty(), is_size) << text;
    if (is_size) {
      EXPECT_EQ(size_value("--bytes", text, 0, INT64_MAX), *expected) << text;
    }
  }
}

TEST(OptionValues, a_size_that_is_refused_is_told_with_the_bounds_as_people_write_them) {
  EXPECT_EQ(refusal_of_size("2G", 8, 1 << 30),
            "--bytes 2G is not valid: it must be a number of bytes such as 4096 or 16K, from 8 to 1G");
  EXPECT_EQ(refusal_of_size("1", 8, 1000),
            "--bytes 1 is not valid: it must be a number of bytes such as 4096 or 16K, from 8 to 1000");
}

TEST(OptionValues, a_list_replaces_its_default_and_takes_commas_and_repetitions) {
  CLI::App app{"Lists.", "lists"};
  std::vector<int> threads{1, 2, 4};
  std::vector<std::uint32_t> sizes{8};
  add_integers(app, "--threads", threads, 1, 64, "threads");
  add_sizes(app, "--bytes", sizes, 8, 1 << 30, "bytes");
  app.parse("--threads 3,5 --threads 7 --bytes 16K,1M", false);
  EXPECT_EQ(threads, (std::vector{3, 5, 7}));
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{16384, 1 << 20}));
}

}  // namespace
}  // namespace weft::tools
