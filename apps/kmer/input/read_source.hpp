// Hands the input of one rank to its threads, as pieces of text that end at record boundaries.
#pragma once

#include "input/gzip.hpp"
#include "input/input.hpp"
#include "input/records.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kmer {

/// Text to parse, with the data by which an error message names the line. Reused from call to call.
struct TextBatch {
  std::string buffer;             // text lies in it
  std::size_t start = 0;          // where the text begins in buffer
  std::size_t size = 0;           // of the text; for FASTA it includes the lookahead
  std::size_t owned = 0;          // FASTA lines that start before this are the batch's own
  bool starts_read = false;       // FASTA: a read starts with the first line, without its header
  bool complete = false;          // the text ends where the file ends
  std::size_t file = 0;           // index of the input file
  std::uint64_t position = 0;     // plain: offset of the text in the file; gzip: lines before it
  std::uint64_t input_bytes = 0;  // bytes of the file that this batch accounts for

  [[nodiscard]] std::string_view text() const noexcept {
    return std::string_view(buffer).substr(start, size);
  }
};

/// The input of one rank. All threads take batches from it until it is exhausted: byte ranges of plain files
/// in parallel; of a gzip file one batch at a time, by a thread that finds it free, so that one thread
/// decompresses while the others parse.
class ReadSource {
 public:
  enum class Answer : std::uint8_t {
    batch,  ///< parse it
    busy,   ///< all that is left is being decompressed by other threads: serve, then ask again
    exhausted,
  };

  ReadSource(const std::vector<InputFile>& files, const std::vector<WorkUnit>& units, int k,
             std::size_t gzip_batch = std::size_t{256} << 10);

  /// Any thread; never waits for another one. Throws InputError.
  Answer next(TextBatch& batch);
  /// Parses a batch into `sink` (see RecordParser). Throws InputError with file and line.
  template <class Sink>
  void parse(const TextBatch& batch, RecordParser& parser, Sink& sink) const {
    try {
      if (files_[batch.file].format == Format::fastq)
        parser.parse_fastq(batch.text(), batch.complete, sink);
      else
        parser.parse_fasta(batch.text(), batch.owned, batch.starts_read, sink);
    } catch (const RecordError& error) {
      raise(batch, error);
    }
  }

  /// The share of the input that has been handed out, 0 to 1; for display.
  [[nodiscard]] double progress() const noexcept;
  /// The bytes of input files that have been handed out.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_done_.load(std::memory_order_relaxed); }

 private:
  /// A gzip file between two batches. The thread that holds the mutex owns it.
  struct Compressed {
    Compressed(std::size_t index, const std::string& path) : file(index), stream(path) {}
    std::mutex mutex;
    std::size_t file;
    GzipStream stream;
    std::string pending;          // decompressed, not handed out yet
    std::uint64_t lines = 0;      // before pending
    std::uint64_t accounted = 0;  // compressed bytes already accounted for
    bool starts_read = false;     // FASTA: the last line before pending that is not blank is a header
    bool ended = false;           // everything is in pending
    std::atomic<bool> exhausted{false};
  };

  bool next_compressed(Compressed& input, TextBatch& batch);
  bool read_range(const WorkUnit& unit, TextBatch& batch) const;
  bool header_precedes(const File& file, std::uint64_t line_start) const;
  [[noreturn]] void raise(const TextBatch& batch, const RecordError& error) const;

  const std::vector<InputFile>& files_;
  std::size_t lookahead_;  // bases that a FASTA batch must show behind its own lines
  std::size_t gzip_batch_;
  std::deque<Compressed> compressed_;
  std::vector<WorkUnit> ranges_;
  std::vector<File> open_;  // by file index; only plain files with ranges here
  std::uint64_t bytes_total_ = 0;
  std::atomic<std::size_t> next_range_{0};
  std::atomic<std::uint64_t> bytes_done_{0};
};

}  // namespace kmer
