#include "count/table.hpp"

#include "count/receiver.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

constexpr int kK = 21;

/// Records of random reads over a small genome, as messages carry them, and the counts that must result.
struct Traffic {
  std::vector<std::vector<std::uint8_t>> messages;
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t kmers = 0;
};

std::string letters_of(const Kmer<1>& kmer) {
  char text[kK];
  return {text, write_letters(kmer, kK, text)};
}

Traffic make_traffic(std::size_t reads, std::uint32_t shards) {
  std::mt19937 random(5);
  std::string genome(3000, 'A');
  for (char& letter : genome) letter = "ACGT"[random() % 4];
  Traffic traffic;
  Splitter splitter(kK, shards, false);
  for (std::size_t i = 0; i < reads; ++i) {
    std::string text = genome.substr(random() % (genome.size() - 100), 100);
    text[random() % 100] = "ACGT"[random() % 4];
    std::vector<std::uint8_t> codes(text.size() + 8);
    (void)encode_bases(text, codes.data());
    auto& message = traffic.messages.emplace_back();
    splitter.split(Piece{codes.data(), text.size(), true, true}, [&](const SuperKmer& run) {
      const std::size_t at = message.size();
      message.resize(at + kRecordHeader + run_bytes(kK, run.kmers) + 16);
      message[at] = static_cast<std::uint8_t>(run.shard);
      message[at + 1] = static_cast<std::uint8_t>(run.shard >> 8);
      message[at + 2] = static_cast<std::uint8_t>(run.kmers - 1);
      copy_bases(run.packed, run.first, kK - 1 + run.kmers, message.data() + at + kRecordHeader);
      message.resize(at + kRecordHeader + run_bytes(kK, run.kmers));
      traffic.kmers += run.kmers;
    });
    std::vector<std::uint8_t> packed(packed_size(text.size()) + 48);
    pack_bases(codes.data(), text.size(), packed.data());
    RollingKmer<1> rolling(kK);
    rolling.start(packed.data());
    for (std::size_t j = 0;; ++j) {
      ++traffic.counts[letters_of(rolling.canonical())];
      if (j + kK == text.size()) break;
      rolling.advance(codes[j + kK]);
    }
  }
  std::erase_if(traffic.counts, [](const auto& entry) { return entry.second < 2; });
  return traffic;
}

void expect_counts(std::size_t memory, bool spills) {
  constexpr std::uint32_t kShards = 64;
  const Traffic traffic = make_traffic(4000, kShards);
  const BloomPlan plan = plan_bloom(0.05);
  Receiver<1> receiver(kK, kShards, plan, memory, 100);
  for (const auto& message : traffic.messages) ASSERT_TRUE(receiver.accept(message));
  receiver.end_pass();
  ASSERT_EQ(receiver.has_spilled(), spills);
  if (spills) {
    for (const auto& message : traffic.messages) ASSERT_TRUE(receiver.accept(message));
    receiver.end_pass();
  }
  ShardCounter<1> scratch(kK, plan);
  Kept<1> kept;
  for (std::size_t shard = 0; shard < kShards; ++shard) receiver.count(shard, scratch, kept);
  std::map<std::string, std::uint64_t> counts;
  for (const auto& entry : kept.entries)
    EXPECT_TRUE(counts.emplace(letters_of(entry.kmer), entry.count).second);
  EXPECT_EQ(counts, traffic.counts);
  std::uint64_t occurrences = 0;
  for (const auto& bin : kept.histogram.bins()) occurrences += bin.count * bin.kmers;
  EXPECT_EQ(occurrences, traffic.kmers);
}

TEST(Receiver, CountsWhatItKeeps) { expect_counts(std::size_t{64} << 20, false); }

TEST(Receiver, CountsTheSameWhenNothingMayBeKept) { expect_counts(0, true); }

TEST(Receiver, CountsTheSameWhenItSpillsHalfway) { expect_counts(70 * RunStore::kChunkBytes / 2, true); }

TEST(Receiver, RefusesDamagedMessages) {
  Receiver<1> receiver(kK, 4, plan_bloom(0.05), 1 << 20, 10);
  EXPECT_FALSE(receiver.accept(std::vector<std::uint8_t>{0, 0}));
  EXPECT_FALSE(receiver.accept(std::vector<std::uint8_t>{0, 0, 0, 1, 2}));
  std::vector<std::uint8_t> other_shard(kRecordHeader + run_bytes(kK, 1));
  other_shard[0] = 4;
  EXPECT_FALSE(receiver.accept(other_shard));
  other_shard[0] = 3;
  EXPECT_TRUE(receiver.accept(other_shard));
}

}  // namespace
}  // namespace kmer
