#include "input/read_source.hpp"

#include "failure.hpp"
#include "test_files.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

/// Collects k-mers of pieces as text, with the ends of reads marked: '<' before the first, '>' behind the
/// last.
struct Collector {
  std::size_t k;
  std::size_t reads_seen = 0;
  std::vector<std::string> kmers{};

  void read() { ++reads_seen; }
  void piece(const Piece& piece) {
    for (std::size_t i = 0; i + k <= piece.size; ++i) {
      std::string text(i == 0 && piece.first ? 1 : 0, '<');
      for (std::size_t j = i; j < i + k; ++j) text += "ACGTN"[piece.codes[j]];
      if (i + k == piece.size && piece.last) text.push_back('>');
      kmers.push_back(text);
    }
  }
};

struct Read {
  std::size_t reads;
  std::vector<std::string> kmers;  // sorted
  friend bool operator==(const Read&, const Read&) = default;
};

Read read_units(const std::vector<InputFile>& files, const std::vector<WorkUnit>& units, int k,
                std::size_t gzip_batch = 1 << 18) {
  ReadSource source(files, units, k, gzip_batch);
  RecordParser parser(k);
  Collector collector{static_cast<std::size_t>(k)};
  TextBatch batch;
  while (source.next(batch) == ReadSource::Answer::batch) source.parse(batch, parser, collector);
  std::sort(collector.kmers.begin(), collector.kmers.end());
  return {collector.reads_seen, collector.kmers};
}

Read read_whole(const std::string& path, int k) {
  const std::vector<InputFile> files = inspect_inputs({path});
  return read_units(files, {{0, 0, files[0].size}}, k);
}

Read expected_of(const std::vector<std::string>& sequences, int k) {
  Read read{sequences.size(), {}};
  const auto length = static_cast<std::size_t>(k);
  for (const std::string& sequence : sequences)
    for (std::size_t i = 0; i + length <= sequence.size(); ++i) {
      std::string text = sequence.substr(i, length);
      if (i == 0) text.insert(0, 1, '<');
      if (i + length == sequence.size()) text.push_back('>');
      read.kmers.push_back(text);
    }
  std::sort(read.kmers.begin(), read.kmers.end());
  return read;
}

/// Reads the text once for every way to cut it in two and in ranges of a few sizes, and as gzip in batches of
/// several sizes.
void expect_same_however_divided(const std::string& text, const std::vector<std::string>& sequences, int k) {
  const TestFolder folder;
  const std::string path = folder.write("reads", text);
  const std::vector<InputFile> files = inspect_inputs({path});
  const Read expected = expected_of(sequences, k);
  ASSERT_EQ(read_whole(path, k), expected);
  for (std::uint64_t cut = 0; cut <= files[0].size; ++cut)
    ASSERT_EQ(read_units(files, {{0, 0, cut}, {0, cut, files[0].size}}, k), expected) << "cut at " << cut;
  for (const std::uint64_t size : {1U, 3U, 7U, 20U}) {
    std::vector<WorkUnit> units;
    for (std::uint64_t begin = 0; begin < files[0].size; begin += size)
      units.push_back({0, begin, std::min(begin + size, files[0].size)});
    ASSERT_EQ(read_units(files, units, k), expected) << "ranges of " << size;
  }
  const std::vector<InputFile> compressed = inspect_inputs({folder.write_gzip("reads.gz", text)});
  for (std::size_t batch = 1; batch <= text.size() + 1; ++batch)
    ASSERT_EQ(read_units(compressed, {{0, 0, compressed[0].size}}, k, batch), expected)
        << "batches of " << batch;
}

/// The message of the error that reading the file ends with; empty when there is none.
std::string error_of_reading(const std::string& path, int k = 3, std::uint64_t unit = 1 << 20) {
  try {
    const std::vector<InputFile> files = inspect_inputs({path});
    std::vector<WorkUnit> units;
    for (std::uint64_t begin = 0; begin < files[0].size; begin += files[0].is_gzip ? files[0].size : unit)
      units.push_back({0, begin, files[0].is_gzip ? files[0].size : std::min(begin + unit, files[0].size)});
    (void)read_units(files, units, k);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

const char* const kOddFastq =
    "@a\nACGTAC\n+\n@@@@@@\n@+\nCCGTN\n+@b\n+@ACG\n@@c\nTTTTGG\n+c\n@ACGTA\n@+d\nGATTACA\n+\n+++++++\n@"
    "e\nA\n+\n@\n@f\n\n+\n\n@\nACG\n+"
    "\n@+@\n";
const std::vector<std::string> kOddReads = {"ACGTAC", "CCGTN", "TTTTGG", "GATTACA", "A", "", "ACG"};

std::string with_carriage_returns(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\n') result.push_back('\r');
    result.push_back(letter);
  }
  return result;
}

TEST(ReadSource, ReadsFastqWithOddQualitiesAtEveryCut) {
  expect_same_however_divided(kOddFastq, kOddReads, 3);
}

TEST(ReadSource, ReadsFastqWithCarriageReturnsAtEveryCut) {
  expect_same_however_divided(with_carriage_returns(kOddFastq), kOddReads, 3);
}

TEST(ReadSource, ReadsFastqWithoutLastLineEndAtEveryCut) {
  std::string text = kOddFastq;
  text.pop_back();
  expect_same_however_divided(text, kOddReads, 3);
}

TEST(ReadSource, ReadsFastqWithBlankLinesBehindIt) {
  expect_same_however_divided(std::string(kOddFastq) + "\n\r\n\n", kOddReads, 3);
}

const char* const kOddFasta = ">a first\nACGTA\nCCN\nGT\n>b\n>c\nAC\n>d >e\n\nACGTTGCATT\nA\n\nC\n>f\nTTTT";
const std::vector<std::string> kOddSequences = {"ACGTACCNGT", "", "AC", "ACGTTGCATTAC", "TTTT"};

TEST(ReadSource, ReadsFastaOfManyLinesAtEveryCut) {
  for (const int k : {1, 3, 7}) expect_same_however_divided(kOddFasta, kOddSequences, k);
}

TEST(ReadSource, ReadsFastaWithCarriageReturnsAtEveryCut) {
  for (const int k : {1, 3, 7})
    expect_same_however_divided(with_carriage_returns(kOddFasta), kOddSequences, k);
}

TEST(ReadSource, ReadsFastaWithLastLineEndAtEveryCut) {
  expect_same_however_divided(std::string(kOddFasta) + "\n", kOddSequences, 5);
}

TEST(ReadSource, CutsLongReadsWithoutLosingKmers) {
  std::string sequence;
  for (std::size_t i = 0; i < 3 * kPieceBases + 17; ++i) sequence += "ACGT"[(i * i + i / 7) % 4];
  std::string lines;
  for (std::size_t i = 0; i < sequence.size(); i += 61) lines += sequence.substr(i, 61) + "\n";
  const TestFolder folder;
  for (const int k : {1, 51, 127}) {
    const Read expected = expected_of({sequence, "ACGT"}, k);
    EXPECT_EQ(read_whole(folder.write("one.fa", ">one\n" + sequence + "\n>two\nACGT\n"), k), expected);
    EXPECT_EQ(read_whole(folder.write("lines.fa", ">one\n" + lines + ">two\nACGT\n"), k), expected);
    EXPECT_EQ(
        read_whole(folder.write("one.fq", "@one\n" + sequence + "\n+\n" + std::string(sequence.size(), '@') +
                                              "\n@two\nACGT\n+\nIIII\n"),
                   k),
        expected);
  }
}

TEST(ReadSource, TakesSmallLettersAndUnknownBases) {
  const TestFolder folder;
  EXPECT_EQ(read_whole(folder.write("reads", ">a\nacgRtt\n"), 3), expected_of({"ACGNTT"}, 3));
}

TEST(ReadSource, ReadsGzipFilesOfSeveralMembers) {
  const TestFolder folder;
  folder.write_gzip("a", ">a\nACG\n");
  folder.write_gzip("b", ">b\nTTT\n");
  EXPECT_EQ(read_whole(folder.write("both", folder.read("a") + folder.read("b") + std::string(100, '\0')), 3),
            expected_of({"ACG", "TTT"}, 3));
}

TEST(ReadSource, FindsNoReadsInEmptyFiles) {
  const TestFolder folder;
  EXPECT_EQ(read_whole(folder.write("nothing", ""), 3).reads, 0U);
  EXPECT_EQ(read_whole(folder.write("lines", "\n\r\n\n"), 3).reads, 0U);
  EXPECT_EQ(read_whole(folder.write_gzip("nothing.gz", ""), 3).reads, 0U);
}

TEST(ReadSource, NamesFileLineAndLetter) {
  const TestFolder folder;
  const std::string fasta = folder.write("bad.fa", ">a\nACGT\n>b\nAC-T\n");
  EXPECT_EQ(error_of_reading(fasta), fasta + ":4: '-' is not a nucleotide letter");
  const std::string fastq = folder.write("bad.fq", "@a\nACGT\n+\nIIII\n@b\nAC\tT\n+\nIIII\n");
  EXPECT_EQ(error_of_reading(fastq), fastq + ":6: byte 0x09 is not a nucleotide letter");
  EXPECT_EQ(error_of_reading(fastq, 3, 9), fastq + ":6: byte 0x09 is not a nucleotide letter");
  const std::string gzip = folder.write_gzip("bad.fq.gz", "@a\nACGT\n+\nIIII\n@b\nACxT\n+\nIIII\n");
  EXPECT_EQ(error_of_reading(gzip), gzip + ":6: 'x' is not a nucleotide letter");
}

TEST(ReadSource, ReportsTruncatedRecords) {
  const TestFolder folder;
  const std::string whole = "@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIIII\n";
  for (const std::size_t length : {16U, 17U, 18U, 20U, 23U, 25U, 26U, 28U}) {
    const std::string path = folder.write("short.fq", whole.substr(0, length));
    EXPECT_NE(error_of_reading(path).find(length > 25 ? ":8: truncated record" : ":5: truncated record"),
              std::string::npos)
        << length << ": " << error_of_reading(path);
    if (length > 20) {
      EXPECT_FALSE(error_of_reading(path, 3, 5).empty()) << length;
    }
  }
  EXPECT_EQ(error_of_reading(folder.write("good.fq", whole.substr(0, whole.size() - 1))), "");
}

TEST(ReadSource, ReportsRecordsThatAreNotFastq) {
  const TestFolder folder;
  const std::string lines = folder.write("lines.fq", "@a\nACGT\nACGT\n+\nIIIIIIII\n");
  EXPECT_EQ(error_of_reading(lines), lines + ":3: expected '+' (FASTQ records have four lines), found 'A'");
  const std::string lengths = folder.write("lengths.fq", "@a\nACGT\n+\nIII\n@b\nA\n+\nI\n");
  EXPECT_EQ(error_of_reading(lengths),
            lengths + ":4: 3 qualities for 4 bases: both lines of a FASTQ record must have the same length");
  const std::string header = folder.write("header.fq", "@a\nACGT\n+\nIIII\nb\nA\n+\nI\n");
  EXPECT_EQ(error_of_reading(header), header + ":5: expected '@' at the start of a FASTQ record, found 'b'");
}

TEST(ReadSource, ReportsDamageWhereverTheFileIsCut) {
  const TestFolder folder;
  const std::string path =
      folder.write("bad.fq", "@a\nACGT\n+\nIIII\n@b\nACGT\n+\n@c\nACGT\n+\nIIII\n@d\nACGT\n+\nIIII\n");
  for (std::uint64_t unit = 1; unit < 60; ++unit) EXPECT_NE(error_of_reading(path, 3, unit), "") << unit;
}

TEST(ReadSource, ReportsBrokenGzip) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += ">r" + std::to_string(i * 7919) + "\nACGTACGTTGCA\n";
  folder.write_gzip("good.gz", text);
  const std::string good = folder.read("good.gz");
  const std::string short_path = folder.write("short.gz", good.substr(0, good.size() - 10));
  EXPECT_EQ(error_of_reading(short_path).find(short_path + ": broken gzip data: the file ends early"), 0U)
      << error_of_reading(short_path);
  std::string flipped = good;
  flipped[good.size() - 6] = static_cast<char>(flipped[good.size() - 6] ^ 1);  // checksum
  EXPECT_NE(
      error_of_reading(folder.write("flipped.gz", flipped)).find("broken gzip data: incorrect data check"),
      std::string::npos);
  EXPECT_NE(error_of_reading(folder.write("garbage.gz", good + "garbage")).find("broken gzip data"),
            std::string::npos);
}

TEST(Input, RefusesWhatIsNoFileOfReads) {
  const TestFolder folder;
  EXPECT_NE(error_of_reading(folder.path("missing")).find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(error_of_reading(folder.path("")).find("is a directory"), std::string::npos);
  EXPECT_NE(
      error_of_reading(folder.write("text", "hello")).find("neither FASTA nor FASTQ: it starts with 'h'"),
      std::string::npos);
  EXPECT_NE(error_of_reading(folder.write("binary",
                                          "\x7f"
                                          "ELF"))
                .find("starts with byte 0x7f"),
            std::string::npos);
}

TEST(Input, IsDividedAmongRanksCompletely) {
  std::vector<InputFile> files(4);
  files[0] = {"a", Format::fastq, false, 10'000'000, 0, 0};
  files[1] = {"b", Format::fastq, true, 500'000, 0, 0};
  files[2] = {"c", Format::fasta, false, 1, 0, 0};
  files[3] = {"d", Format::fasta, true, 400'000, 0, 0};
  for (const int ranks : {1, 2, 3, 8}) {
    const auto plan = plan_units(files, ranks, 2);
    ASSERT_EQ(plan.size(), static_cast<std::size_t>(ranks));
    std::vector<std::uint64_t> covered(files.size());
    for (const auto& units : plan)
      for (const WorkUnit& unit : units) covered[unit.file] += unit.end - unit.begin;
    for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(covered[i], files[i].size);
    if (ranks == 2) {
      EXPECT_EQ(plan[0][0].file, 1U);
      EXPECT_EQ(plan[1][0].file, 3U);
    }
  }
}

}  // namespace
}  // namespace kmer
