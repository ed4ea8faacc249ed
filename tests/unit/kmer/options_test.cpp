#include "options.hpp"

#include "failure.hpp"
#include "input/synth.hpp"
#include "test_files.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

Command parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-kmer");
  return parse_command(static_cast<int>(arguments.size()), arguments.data());
}

std::string error_of(const std::vector<const char*>& arguments) {
  const Command command = parse(arguments);
  return command.exit_code == 0 ? "" : command.message;
}

TEST(Options, AreReadFromTheCommandLine) {
  const Command command =
      parse({"-k", "51", "-o", "out", "-t", "3", "--buffer", "64K", "--memory", "2G", "--progress",
             "dedicated", "--false-positives", "0.01", "--skip-ends", "a.fq", "b.fq"});
  ASSERT_EQ(command.kind, Command::Kind::count) << command.message;
  EXPECT_EQ(command.count.k, 51);
  EXPECT_EQ(command.count.prefix, "out");
  EXPECT_EQ(command.count.threads, 3);
  EXPECT_EQ(command.count.buffer, 65536U);
  EXPECT_EQ(command.count.memory, std::size_t{2} << 30);
  EXPECT_EQ(command.count.progress, Progress::dedicated);
  EXPECT_TRUE(command.count.skip_ends);
  EXPECT_EQ(command.count.files, (std::vector<std::string>{"a.fq", "b.fq"}));
}

TEST(Options, NameWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(error_of({"-k", "4", "-o", "x", "a"}),
            "-k 4: expected an odd number (an even k-mer can be its own reverse complement)");
  EXPECT_EQ(error_of({"-k", "129", "-o", "x", "a"}),
            "-k 129 is not valid: it must be an integer from 1 to 127");
  EXPECT_EQ(error_of({"-k", "0", "-o", "x", "a"}), "-k 0 is not valid: it must be an integer from 1 to 127");
  EXPECT_EQ(error_of({"-k", "3", "-o", "x", "a", "--buffer", "12Q"}),
            "--buffer 12Q is not valid: it must be a number of bytes such as 4096 or 16K, from 256 to 16M");
  EXPECT_EQ(error_of({"-k", "abc", "-o", "x", "a"}),
            "-k abc is not valid: it must be an integer from 1 to 127");
  EXPECT_EQ(error_of({"-k", "3", "-o", "x", "a", "--threads", "0"}),
            "--threads 0 is not valid: it must be an integer from 1 to 63");
  EXPECT_EQ(error_of({"-k", "3", "-o", "x", "a", "-t"}), "--threads needs a value: --threads N");
  EXPECT_EQ(error_of({"-k", "3", "-k", "5", "-o", "x", "a"}), "-k is given 2 times: once is enough");
  EXPECT_EQ(error_of({"-k", "3", "-o", "x", "a", "b", "a"}),
            "a: the same file is given twice; its reads would be counted twice");
  EXPECT_NE(error_of({"-k", "3", "-o", "x"}), "");
  EXPECT_NE(error_of({"-k", "3", "a"}), "");
  EXPECT_NE(error_of({"-k", "3", "-o", "x", "a", "--false-positives", "0"}), "");
  EXPECT_NE(error_of({"-k", "3", "-o", "x", "a", "--nonsense"}), "");
  EXPECT_NE(error_of({"synth"}), "");
  EXPECT_NE(error_of({"synth", "-o", "x", "--length", "10", "--read-length", "11"}), "");
  EXPECT_EQ(error_of({"synth", "-o", "x", "--error", "1.5"}),
            "--error 1.5 is not valid: it must be a number from 0 to 1");
  EXPECT_EQ(error_of({"synth", "-o", "x", "--seed", "-1"}),
            "--seed -1 is not valid: it must be an integer from 0 to 4611686018427387904");
  EXPECT_EQ(error_of({"synth", "-o", "x", "--lenth", "5M"}),
            "there is no option --lenth: did you mean --length?");
}

TEST(Options, HelpIsNoError) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  EXPECT_NE(parse({"--help"}).message.find("--skip-ends"), std::string::npos);
  EXPECT_NE(parse({"synth", "--help"}).message.find("--coverage"), std::string::npos);
}

TEST(Options, SizesHaveUnits) {
  const auto buffer = [](const char* text) { return parse({"-k", "51", "-o", "x", "f", "--buffer", text}); };
  EXPECT_EQ(buffer("8K").count.buffer, 8192U);
  EXPECT_EQ(buffer("64KiB").count.buffer, 65536U);
  EXPECT_EQ(buffer("1000").count.buffer, 1000U);
  EXPECT_EQ(parse_length("--length", "5M"), 5'000'000U);
  EXPECT_EQ(parse_length("--length", "2k"), 2'000U);
  for (const char* text : {"", "K", "-1", "1KK", "99999999999G", "1.5M"})
    EXPECT_EQ(buffer(text).message, std::string("--buffer ") + text +
                                        " is not valid: it must be a number of bytes such as "
                                        "4096 or 16K, from 256 to 16M");
}

SynthOptions small_reads(const TestFolder& folder, const std::string& name) {
  SynthOptions options;
  options.length = 2000;
  options.coverage = 10;
  options.read_length = 50;
  options.output = folder.path(name);
  return options;
}

TEST(Synth, WritesTheSameBytesForTheSameSeed) {
  const TestFolder folder;
  SynthOptions options = small_reads(folder, "a");
  write_synthetic_reads(options);
  options.output = folder.path("b");
  write_synthetic_reads(options);
  options.output = folder.path("c");
  options.seed = 2;
  write_synthetic_reads(options);
  EXPECT_EQ(folder.read("a"), folder.read("b"));
  EXPECT_NE(folder.read("a"), folder.read("c"));
  // The first read of seed 1 is the same on every machine.
  EXPECT_EQ(folder.read("a").substr(0, 20), "@weft-kmer-synth.1\n" + folder.read("a").substr(19, 1));
}

TEST(Synth, HasCoverageAndErrorsAsAsked) {
  const TestFolder folder;
  SynthOptions options = small_reads(folder, "a");
  options.length = 20'000;
  options.coverage = 30;
  options.error_rate = 0;
  write_synthetic_reads(options);
  const std::string exact = folder.read("a");
  options.error_rate = 0.05;
  write_synthetic_reads(options);
  const std::string with_errors = folder.read("a");
  ASSERT_EQ(exact.size(), with_errors.size());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) differences += exact[i] != with_errors[i] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(differences), 0.05 * 600'000, 1'000);
  std::size_t reads = 0;
  for (std::size_t at = exact.find("@weft-kmer-synth."); at != std::string::npos;
       at = exact.find("@weft-kmer-synth.", at + 1))
    ++reads;
  EXPECT_EQ(reads, 12'000U);
}

TEST(Synth, ReplacesOnlyItsOwnFiles) {
  const TestFolder folder;
  folder.write("precious", "@read\nACGT\n+\nIIII\n");
  EXPECT_THROW(write_synthetic_reads(small_reads(folder, "precious")), InputError);
  EXPECT_EQ(folder.read("precious"), "@read\nACGT\n+\nIIII\n");
  EXPECT_THROW(write_synthetic_reads(small_reads(folder, "missing/x")), InputError);
  EXPECT_THROW(write_synthetic_reads(small_reads(folder, "")), InputError);
}

}  // namespace
}  // namespace kmer
