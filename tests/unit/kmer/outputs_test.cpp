#include "output/outputs.hpp"

#include "failure.hpp"
#include "output/counts_writer.hpp"
#include "output/report.hpp"
#include "test_files.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace kmer {
namespace {

std::string error_of(const std::string& prefix, const std::vector<InputFile>& inputs = {}) {
  try {
    const Outputs outputs(prefix, inputs);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

void write_outputs(const std::string& prefix, const std::string& counts) {
  Outputs outputs(prefix, {});
  File::open_output(outputs.counts_path()).write_at(counts.data(), counts.size(), 0);
  outputs.write_svg("<svg/>");
  outputs.write_json(json_report({}));
  outputs.commit();
}

std::size_t files_in(const TestFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path("")), {}));
}

TEST(Outputs, AppearTogetherAndReplaceTheirOwnPredecessors) {
  const TestFolder folder;
  write_outputs(folder.path("x"), "one");
  write_outputs(folder.path("x"), "two");
  EXPECT_EQ(folder.read("x.counts"), "two");
  EXPECT_EQ(folder.read("x.svg"), "<svg/>");
  EXPECT_EQ(files_in(folder), 3U);
}

TEST(Outputs, WithoutAPictureRemoveAFormerOne) {
  const TestFolder folder;
  write_outputs(folder.path("x"), "one");
  {
    Outputs outputs(folder.path("x"), {});
    outputs.leave_out_svg();
    outputs.write_json(json_report({}));
    outputs.commit();
  }
  EXPECT_EQ(files_in(folder), 2U);
  EXPECT_EQ(folder.read("x.svg"), "");
}

TEST(Outputs, LeaveNothingWhenTheCountFails) {
  const TestFolder folder;
  EXPECT_EQ(error_of(folder.path("x")), "");
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(Outputs, SpareFilesOfOthers) {
  const TestFolder folder;
  folder.write("x.counts", "precious");
  EXPECT_NE(error_of(folder.path("x")).find("x.counts: exists, and no "), std::string::npos);
  folder.write("x.json", R"({"program": "another"})");
  EXPECT_NE(error_of(folder.path("x")), "");
  folder.write("x.json", "[1, 2");
  EXPECT_NE(error_of(folder.path("x")), "");
  EXPECT_EQ(folder.read("x.counts"), "precious");
}

TEST(Outputs, SpareInputs) {
  const TestFolder folder;
  write_outputs(folder.path("x"), ">a\nACGT\n");
  const std::string message = error_of(folder.path("x"), {inspect_input(folder.path("x.counts"))});
  EXPECT_NE(message.find("x.counts: is the input"), std::string::npos) << message;
}

TEST(Outputs, NeedAPrefixInAFolderThatExists) {
  const TestFolder folder;
  EXPECT_NE(error_of(folder.path("")).find("expected a prefix"), std::string::npos);
  EXPECT_NE(error_of(folder.path("missing/x")).find("missing/x.counts: cannot be written: No such file"),
            std::string::npos);
  std::filesystem::create_directory(folder.path("y.svg"));
  EXPECT_NE(error_of(folder.path("y")).find("y.svg: exists and is not a regular file"), std::string::npos);
}

TEST(CountsWriter, WritesLinesWhereTheirSizesSay) {
  const TestFolder folder;
  Kept<1> kept;
  kept.entries = {{Kmer<1>{{0b00'01'10'11'00}}, 2}, {Kmer<1>{{0}}, 12'345'678'901}};
  EXPECT_EQ(text_size(kept, 5), 8U + 18U);
  const File file = File::create(folder.path("counts"));
  file.write_at("first\n", 6, 0);
  write_counts(kept, 5, file, 6);
  EXPECT_EQ(folder.read("counts"), "first\nACGTA 2\nAAAAA 12345678901\n");
}

TEST(Report, AlignsTheTableAndNamesEveryTotal) {
  Report report;
  report.options.k = 51;
  report.options.threads = 2;
  report.ranks = 2;
  report.totals.kmers = 75'000'000;
  report.timings.total = 2;
  const std::string table = table_report(report);
  EXPECT_NE(table.find("2 ranks x 2 threads, k = 51"), std::string::npos);
  EXPECT_NE(table.find("75,000,000"), std::string::npos);
  EXPECT_NE(table.find("37,500,000"), std::string::npos);
  for (const char* name : {"reads", "51-mers", "distinct", "kept (count >= 2)", "time", "k-mers/s",
                           "messages", "messages/s", "peak memory"})
    EXPECT_NE(table.find(name), std::string::npos) << name;
  EXPECT_NE(json_report(report).find("\"kmers\": 75000000"), std::string::npos);
}

}  // namespace
}  // namespace kmer
