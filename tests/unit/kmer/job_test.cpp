#include <weft/testing/in_process_job.hpp>

#include "job.hpp"

#include "input/synth.hpp"
#include "test_files.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

/// Runs the job with several ranks in this process. Returns whether rank 0 succeeded, and its error line.
std::pair<bool, std::string> run_ranks(int ranks, const CountOptions& options) {
  weft::InProcessJob in_process(ranks);
  std::vector<std::pair<bool, std::string>> results(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      weft::Runtime runtime(in_process, rank);
      Job job(runtime, options);
      results[rank].first = job.run();
      results[rank].second = job.error_line();
      job.barrier();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  return results[0];
}

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string result;
  for (const std::string& line : lines) result += line + "\n";
  return result;
}

class JobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SynthOptions synth;
    synth.length = 5'000;
    synth.coverage = 20;
    synth.output = folder_.path("reads.fq");
    write_synthetic_reads(synth);
    folder_.write_gzip("reads.fq.gz", folder_.read("reads.fq"));
    options_.k = 31;
    options_.threads = 1;
    options_.prefix = folder_.path("x");
    options_.files = {folder_.path("reads.fq"), folder_.path("reads.fq.gz")};
  }
  std::string counts_with(int ranks, const CountOptions& options) {
    const auto [good, error] = run_ranks(ranks, options);
    EXPECT_TRUE(good) << error;
    return sorted_lines(folder_.read("x.counts"));
  }

  TestFolder folder_;
  CountOptions options_;
};

TEST_F(JobTest, CountsTheSameWithAnyNumberOfRanksAndThreads) {
  const std::string expected = counts_with(1, options_);
  EXPECT_GT(expected.size(), 100'000U);
  for (const auto& [ranks, threads] : {std::pair{1, 3}, {2, 1}, {2, 2}, {3, 2}}) {
    CountOptions options = options_;
    options.threads = threads;
    EXPECT_EQ(counts_with(ranks, options), expected) << ranks << " x " << threads;
    options.progress = Progress::dedicated;
    options.buffer = 256;
    EXPECT_EQ(counts_with(ranks, options), expected) << ranks << " x " << threads << " dedicated";
    options.memory = 0;
    EXPECT_EQ(counts_with(ranks, options), expected) << ranks << " x " << threads << " spilled";
  }
}

TEST_F(JobTest, EndsOnAllRanksWhenOneFindsDamagedInput) {
  std::string damaged = folder_.read("reads.fq");
  const std::size_t header = damaged.find('@', damaged.size() / 2);
  damaged[damaged.find('\n', header) + 10] = '!';
  options_.files = {folder_.path("reads.fq"), folder_.write("bad.fq", damaged)};
  options_.threads = 2;
  for (const Progress progress : {Progress::workers, Progress::dedicated}) {
    options_.progress = progress;
    const auto [good, error] = run_ranks(3, options_);
    EXPECT_FALSE(good);
    EXPECT_NE(error.find("bad.fq:"), std::string::npos) << error;
    EXPECT_NE(error.find(": '!' is not a nucleotide letter"), std::string::npos) << error;
  }
  options_.files = {folder_.path("reads.fq"), folder_.write("bad.fa", ">a\nACGT\n>b\nAC!GT\n")};
  const auto [good, error] = run_ranks(2, options_);
  EXPECT_FALSE(good);
  EXPECT_NE(error.find("bad.fa:4: '!' is not a nucleotide letter"), std::string::npos) << error;
}

TEST_F(JobTest, LeavesNoOutputsBehindWhenItFails) {
  options_.files = {folder_.write("short.fa", ">a\nACGT\n")};
  const auto [good, error] = run_ranks(2, options_);
  EXPECT_FALSE(good);
  EXPECT_EQ(error, "-k 31: longer than every read (the longest has 4 bases)");
  EXPECT_EQ(folder_.read("x.counts") + folder_.read("x.json") + folder_.read("x.svg"), "");
}

}  // namespace
}  // namespace kmer
