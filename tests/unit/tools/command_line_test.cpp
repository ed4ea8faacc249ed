#include "common/commands/command_line.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "common/commands/option_values.hpp"

namespace weft::tools {
namespace {

/// An app with one option of each kind.
struct Sample {
  Sample() {
    add_integer(app, "--ranks", ranks, 1, 64, "ranks of the job");
    add_choice(app, "--bind", bind, "core|none", "where ranks run");
    app.add_option("-o,--output", output, "the file to write")->required()->type_name("FILE");
    app.add_flag("--quick", is_quick, "less of everything");
  }
  std::optional<CommandEnd> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "sample");
    return parse_command_line(app, static_cast<int>(arguments.size()), arguments.data(),
                              {.short_summary = "show options"});
  }
  std::string refusal(const std::vector<const char*>& arguments) {
    const auto end = parse(arguments);
    return end && end->exit_code == 2 ? end->text : "";
  }

  CLI::App app{"Shows options.", "sample"};
  int ranks = 0;
  std::string bind;
  std::string output;
  bool is_quick = false;
};

TEST(CommandLine, values_are_stored) {
  Sample sample;
  EXPECT_FALSE(sample.parse({"--ranks", "7", "--bind", "core", "-o", "x", "--quick"}).has_value());
  EXPECT_EQ(sample.ranks, 7);
  EXPECT_EQ(sample.bind, "core");
  EXPECT_EQ(sample.output, "x");
  EXPECT_TRUE(sample.is_quick);
}

TEST(CommandLine, refusals_name_the_option_and_what_would_be_right) {
  const auto refusal = [](const std::vector<const char*>& arguments) { return Sample{}.refusal(arguments); };
  EXPECT_EQ(refusal({"-o", "x", "--ranks", "x7"}),
            "--ranks x7 is not valid: it must be an integer from 1 to 64");
  EXPECT_EQ(refusal({"-o", "x", "--ranks", "65"}),
            "--ranks 65 is not valid: it must be an integer from 1 to 64");
  EXPECT_EQ(refusal({"-o", "x", "--ranks", ""}), "--ranks  is not valid: it must be an integer from 1 to 64");
  EXPECT_EQ(refusal({"-o", "x", "--bind", "node"}), "--bind node is not valid: it must be core or none");
  EXPECT_EQ(refusal({"-o", "x", "--ranks"}), "--ranks needs a value: --ranks N");
  EXPECT_EQ(refusal({"-o", "x", "-o", "y"}), "--output is given 2 times: once is enough");
  EXPECT_EQ(refusal({"--ranks", "2"}), "--output FILE is missing: the file to write");
  EXPECT_EQ(refusal({"-o", "x", "--rank", "2"}), "there is no option --rank: did you mean --ranks?");
  EXPECT_EQ(refusal({"-o", "x", "--nonsense=2"}), "there is no option --nonsense");
  EXPECT_EQ(refusal({"-o", "x", "more"}), "\"more\" belongs to no option");
  EXPECT_EQ(refusal({"-o", "x", "--quick=perhaps"}), "--quick takes no value");
}

TEST(CommandLine, help_manual_and_completion_end_the_call) {
  const auto text = [](const std::vector<const char*>& arguments) {
    const auto end = Sample{}.parse(arguments);
    return end && end->exit_code == 0 ? end->text : "";
  };
  EXPECT_NE(text({"--help"}).find("--ranks"), std::string::npos);
  const std::string page = text({"--manual"});
  EXPECT_NE(page.find(".B \\-o\\fR, \\fB\\-\\-output \\fIFILE\\fR\nthe file to write\n"), std::string::npos)
      << page;
  EXPECT_NE(text({"--completion", "bash"}).find("--bind) mapfile -t COMPREPLY < <(compgen -W 'core none'"),
            std::string::npos);
  EXPECT_EQ(Sample{}.refusal({"--completion", "csh"}),
            "--completion needs the name of a shell, which is bash");
}

TEST(CommandLine, letters_that_mean_something_to_roff_do_not) {
  CommandDescription command{.name = "sample", .summary = ".begins\n'with -dots\\ and \"quotes\""};
  const std::string page = manual_page(command, {.short_summary = "x"}, "1.2.3");
  EXPECT_NE(page.find("\\&.begins\n\\&'with \\-dots\\e and \"quotes\""), std::string::npos) << page;
}

}  // namespace
}  // namespace weft::tools
