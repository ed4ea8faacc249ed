#include "common/commands/help_text.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace weft::tools {
namespace {

std::string help(std::size_t width) {
  static std::vector<std::string> names;
  static std::string value;
  CLI::App app{"Measures many things in a sentence that is longer than any of the lines that a terminal has.",
               "sample"};
  app.add_option(
         "--only", names,
         "some of the measurements, with commas between: all, a workload, a transport, or both of them")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--a-name-that-is-longer-than-its-column", value,
                 "what it says goes below it, as far as it is long")
      ->type_name("VALUE");
  app.footer("Examples:\n  sample --only a");
  return help_text(app, width);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The words of a text, one blank between two.
std::string words_of(const std::string& text) {
  std::string words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words += word + ' ';
  return words;
}

TEST(HelpText, no_line_is_wider_than_the_terminal_and_no_word_is_lost) {
  for (const std::size_t width : {60U, 80U, 100U}) {
    for (const std::string& line : lines_of(help(width))) EXPECT_LE(line.size(), width) << line;
    EXPECT_EQ(words_of(help(width)), words_of(help(1000)));
  }
}

TEST(HelpText, what_is_said_of_an_option_stays_in_its_column) {
  const std::vector<std::string> lines = lines_of(help(60));
  std::size_t at = 0;
  while (at < lines.size() && !lines[at].starts_with("  --only")) ++at;
  ASSERT_LT(at + 2, lines.size());
  EXPECT_EQ(lines[at], "  --only NAMES                some of the measurements, with");
  EXPECT_EQ(lines[at + 1], "                              commas between: all, a");
  EXPECT_EQ(lines.back(), "  sample --only a");
}

}  // namespace
}  // namespace weft::tools
