#include "kmer.hpp"

#include "count/super_kmer.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

std::string random_sequence(std::size_t length, unsigned seed, bool with_unknown = false) {
  std::mt19937 random(seed);
  std::string text(length, 'A');
  for (char& letter : text) letter = with_unknown && random() % 40 == 0 ? 'N' : "ACGT"[random() % 4];
  return text;
}

std::string reverse_complement(std::string text) {
  std::reverse(text.begin(), text.end());
  for (char& letter : text)
    letter = letter == 'A' ? 'T' : letter == 'C' ? 'G' : letter == 'G' ? 'C' : letter == 'T' ? 'A' : 'N';
  return text;
}

std::string canonical(const std::string& text) { return std::min(text, reverse_complement(text)); }

std::vector<std::uint8_t> codes_of(const std::string& text) {
  std::vector<std::uint8_t> codes(text.size() + 8);
  EXPECT_EQ(encode_bases(text, codes.data()), text.size());
  return codes;
}

template <int Words>
std::string letters_of(const Kmer<Words>& kmer, int k) {
  char text[kLongest + 1];
  return {text, write_letters(kmer, k, text)};
}

template <int Words>
void expect_canonical_walk(int k) {
  const std::string text = random_sequence(400, static_cast<unsigned>(k));
  std::vector<std::uint8_t> packed(packed_size(text.size()) + 48);
  pack_bases(codes_of(text).data(), text.size(), packed.data());
  RollingKmer<Words> rolling(k);
  rolling.start(packed.data());
  for (std::size_t i = 0;; ++i) {
    ASSERT_EQ(letters_of(rolling.forward(), k), text.substr(i, k)) << "k " << k << " at " << i;
    ASSERT_EQ(letters_of(rolling.canonical(), k), canonical(text.substr(i, k))) << "k " << k << " at " << i;
    if (i + k == text.size()) break;
    rolling.advance(kBaseCodes[static_cast<unsigned char>(text[i + k])]);
  }
}

TEST(Kmer, WalksOverCanonicalKmersOfEveryOddLength) {
  for (int k = 1; k <= kLongest; k += 2) {
    switch (words_for(k)) {
      case 1:
        expect_canonical_walk<1>(k);
        break;
      case 2:
        expect_canonical_walk<2>(k);
        break;
      case 3:
        expect_canonical_walk<3>(k);
        break;
      default:
        expect_canonical_walk<4>(k);
    }
  }
}

TEST(Kmer, NeedsOneWordPerThirtyTwoBases) {
  EXPECT_EQ(words_for(1), 1);
  EXPECT_EQ(words_for(31), 1);
  EXPECT_EQ(words_for(33), 2);
  EXPECT_EQ(words_for(63), 2);
  EXPECT_EQ(words_for(65), 3);
  EXPECT_EQ(words_for(127), 4);
}

TEST(Kmer, HashesSpreadOverTheBitsThatFiltersUse) {
  std::vector<int> low(64), high(64);
  for (std::uint64_t i = 0; i < 64000; ++i) {
    const std::uint64_t hash = hash_of(Kmer<2>{{i, 0}});
    ++low[hash & 63];
    ++high[hash >> 58];
  }
  for (const int count : low) EXPECT_NEAR(count, 1000, 200);
  for (const int count : high) EXPECT_NEAR(count, 1000, 200);
}

TEST(Bases, AreCodedInTheOrderOfTheLetters) {
  std::uint8_t codes[8];
  EXPECT_EQ(encode_bases("ACGTacgt", codes), 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(codes[i], i % 4);
}

TEST(Bases, OtherIupacLettersAreUnknownAndTheRestIsInvalid) {
  std::uint8_t codes[16];
  const std::string unknown = "NRYSWKMBDHVU";
  EXPECT_EQ(encode_bases(unknown, codes), unknown.size());
  for (std::size_t i = 0; i < unknown.size(); ++i) EXPECT_EQ(codes[i], kUnknownBase) << unknown[i];
  EXPECT_EQ(encode_bases("AC-T", codes), 2U);
  EXPECT_EQ(encode_bases("ACGT*", codes), 4U);
  EXPECT_EQ(encode_bases("\xff", codes), 0U);
}

TEST(Bases, AreCopiedFromAnyOffset) {
  const std::string text = random_sequence(300, 7);
  std::vector<std::uint8_t> packed(packed_size(text.size()) + 32);
  pack_bases(codes_of(text).data(), text.size(), packed.data());
  for (std::size_t first = 0; first < 40; ++first)
    for (const std::size_t count : {1U, 4U, 31U, 32U, 33U, 100U, 255U}) {
      std::vector<std::uint8_t> target(packed_size(count) + 16);
      copy_bases(packed.data(), first, count, target.data());
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ("ACGT"[(target[i / 4] >> (2 * (i % 4))) & 3], text[first + i])
            << first << " " << count << " " << i;
    }
}

/// k-mers of the piece that the splitter's runs contain, with the shard of each.
std::map<std::string, std::pair<int, std::uint32_t>> split_kmers(const std::string& text, int k,
                                                                 bool skip_ends, bool first, bool last) {
  std::map<std::string, std::pair<int, std::uint32_t>> found;
  Splitter splitter(k, 1000, skip_ends);
  const std::vector<std::uint8_t> codes = codes_of(text);
  splitter.split(Piece{codes.data(), text.size(), first, last}, [&](const SuperKmer& run) {
    EXPECT_GE(run.kmers, 1U);
    EXPECT_LE(run.kmers, kLongestRun);
    std::string bases;
    for (std::size_t i = run.first; i < run.first + static_cast<std::size_t>(k) - 1 + run.kmers; ++i)
      bases += "ACGT"[(run.packed[i / 4] >> (2 * (i % 4))) & 3];
    for (std::size_t i = 0; i < run.kmers; ++i) {
      auto& [count, shard] = found[canonical(bases.substr(i, static_cast<std::size_t>(k)))];
      if (count > 0) {
        EXPECT_EQ(shard, run.shard);
      }
      ++count;
      shard = run.shard;
    }
  });
  return found;
}

std::map<std::string, int> expected_kmers(const std::string& text, int k) {
  std::map<std::string, int> found;
  const auto length = static_cast<std::size_t>(k);
  for (std::size_t i = 0; i + length <= text.size(); ++i)
    if (text.substr(i, length).find('N') == std::string::npos) ++found[canonical(text.substr(i, length))];
  return found;
}

void expect_same(const std::map<std::string, std::pair<int, std::uint32_t>>& found,
                 const std::map<std::string, int>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [kmer, count] : expected) {
    const auto at = found.find(kmer);
    ASSERT_NE(at, found.end()) << kmer;
    EXPECT_EQ(at->second.first, count) << kmer;
  }
}

TEST(Splitter, CoversEveryKmerOnce) {
  for (const int k : {1, 3, 5, 15, 21, 31, 51, 127})
    for (unsigned seed = 0; seed < 4; ++seed) {
      const std::string text = random_sequence(1500, seed, seed % 2 == 1);
      expect_same(split_kmers(text, k, false, true, true), expected_kmers(text, k));
    }
}

TEST(Splitter, PutsBothStrandsIntoTheSameShard) {
  const std::string text = random_sequence(1000, 11);
  EXPECT_EQ(split_kmers(text, 31, false, true, true),
            split_kmers(reverse_complement(text), 31, false, true, true));
}

TEST(Splitter, LimitsRunsOfRepeatedLetters) {
  const std::string text(2000, 'A');
  expect_same(split_kmers(text, 21, false, true, true), expected_kmers(text, 21));
}

TEST(Splitter, SkipsTheEndsOfReadsOnly) {
  const std::string text = random_sequence(200, 5);
  expect_same(split_kmers(text, 21, true, true, true), expected_kmers(text.substr(1, 198), 21));
  expect_same(split_kmers(text, 21, true, true, false), expected_kmers(text.substr(1), 21));
  expect_same(split_kmers(text, 21, true, false, true), expected_kmers(text.substr(0, 199), 21));
  expect_same(split_kmers(text, 21, true, false, false), expected_kmers(text, 21));
  EXPECT_TRUE(split_kmers(text.substr(0, 22), 21, true, true, true).empty());
}

TEST(Splitter, FindsNothingInShortOrUnknownPieces) {
  EXPECT_TRUE(split_kmers("", 3, false, true, true).empty());
  EXPECT_TRUE(split_kmers("AC", 3, false, true, true).empty());
  EXPECT_TRUE(split_kmers("NNNNNN", 3, false, true, true).empty());
  EXPECT_TRUE(split_kmers("ACNGTNAC", 3, false, true, true).empty());
}

TEST(Splitter, SpreadsKmersEvenlyOverShards) {
  constexpr std::uint32_t kShards = 16;
  Splitter splitter(51, kShards, false);
  std::vector<std::size_t> kmers(kShards);
  const std::string text = random_sequence(400'000, 3);
  const std::vector<std::uint8_t> codes = codes_of(text);
  splitter.split(Piece{codes.data(), text.size(), true, true},
                 [&](const SuperKmer& run) { kmers[run.shard] += run.kmers; });
  for (const std::size_t count : kmers) EXPECT_NEAR(static_cast<double>(count), 25'000, 4'000);
}

}  // namespace
}  // namespace kmer
