// Records in text: finding their boundaries from any position, and walking over complete records.
#pragma once

#include "input/bases.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kmer {

/// Error for text that cannot be a record; the reader adds file and line.
struct RecordError {
  std::size_t offset;   ///< in the text that was parsed
  std::string message;  ///< what is wrong there
};

/// Result of the searches below: more text is needed to decide.
inline constexpr std::size_t kNeedMore = static_cast<std::size_t>(-1);

/// The first FASTQ record that starts at or behind `from`; text.size() when there is none. text[from - 1]
/// must be visible, or `from` be the start of a record. `complete`: nothing follows the text.
///
/// A line that starts with '@' is a header exactly if the line after next starts with '+': had it been a
/// quality line, that line would be a sequence.
[[nodiscard]] std::size_t find_fastq_record(std::string_view text, std::size_t from, bool complete);

/// The first line that starts at or behind `from` and before `limit`; `limit` when there is none.
[[nodiscard]] std::size_t find_line(std::string_view text, std::size_t from, std::size_t limit);

/// The end of the text that a FASTA parser must see behind the line start `from`: `bases` letters of the same
/// read, or its end.
[[nodiscard]] std::size_t fasta_lookahead(std::string_view text, std::size_t from, std::size_t bases,
                                          bool complete);

/// A run of letters of one read as codes. Runs of the same read overlap by k - 1 bases, so that each of the
/// read's k-mers lies in exactly one of them. At least 8 bytes behind the codes are readable.
struct Piece {
  const std::uint8_t* codes;
  std::size_t size;
  bool first;  ///< starts where the read starts
  bool last;   ///< ends where the read ends
};

/// Pieces have at most this many bases plus k, so that the tables of a piece stay in cache.
inline constexpr std::size_t kPieceBases = 8192;

/// Describes the beginning of a line that should have been something else.
[[nodiscard]] std::string describe_start(std::string_view line);
[[nodiscard]] std::string describe_letter(char letter);

/// Turns text into pieces; keeps its buffers from call to call. One per thread.
class RecordParser {
 public:
  explicit RecordParser(int k) : overlap_(static_cast<std::size_t>(k) - 1) {
    codes_.reserve(kPieceBases + 8);
  }

  /// Walks over complete FASTQ records. `sink` needs read(), called once per read, and piece(const Piece&).
  /// `complete`: the text ends where the file ends. Throws RecordError.
  template <class Sink>
  void parse_fastq(std::string_view text, bool complete, Sink& sink) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t start = at;
      const std::string_view header = next_line(text, at);
      if (header.empty() || header[0] != '@') {
        if (complete && text.find_first_not_of("\r\n", start) == std::string_view::npos) return;
        throw RecordError{start,
                          "expected '@' at the start of a FASTQ record, found " + describe_start(header)};
      }
      const std::size_t sequence_start = require_line(text, at, start, complete);
      const std::string_view sequence = next_line(text, at);
      const std::size_t plus_start = require_line(text, at, start, complete);
      const std::string_view plus = next_line(text, at);
      if (plus.empty() || plus[0] != '+')
        throw RecordError{plus_start,
                          "expected '+' (FASTQ records have four lines), found " + describe_start(plus)};
      if (sequence.empty() && at == text.size()) {
        sink.read();  // the empty quality line of an empty last read may lack its line end
        return;
      }
      const std::size_t quality_start = require_line(text, at, start, complete);
      const std::string_view quality = next_line(text, at);
      if (quality.size() != sequence.size())
        throw RecordError{quality_start,
                          length_mismatch(quality.size(), sequence.size(), complete && at == text.size())};
      sink.read();
      begin_read();
      append(sequence, sequence_start, sink);
      end_read(true, sink);
    }
  }

  /// Walks over the FASTA lines that start before `owned`; the text starts at a line start and ends no
  /// earlier than fasta_lookahead(text, owned, k) tells. `starts_read`: a read starts with the text's first
  /// line although its header is not in the text. Throws RecordError.
  template <class Sink>
  void parse_fasta(std::string_view text, std::size_t owned, bool starts_read, Sink& sink) {
    std::size_t at = 0;
    begin_read();
    first_ = starts_read;
    while (at < owned) {
      const std::size_t start = at;
      const std::string_view line = next_line(text, at);
      if (line.starts_with('>')) {
        end_read(true, sink);
        begin_read();
        sink.read();
      } else {
        append(line, start, sink);
      }
    }
    // k-mers that start in owned lines reach up to k - 1 bases into the text behind; one more base tells that
    // the read goes on.
    std::size_t extra = 0;
    while (!codes_.empty() && extra <= overlap_ && at < text.size()) {
      const std::size_t start = at;
      std::string_view line = next_line(text, at);
      if (line.starts_with('>')) break;
      line = line.substr(0, overlap_ + 1 - extra);
      extra += line.size();
      append(line, start, sink);
    }
    if (extra == overlap_ + 1) codes_.pop_back();
    end_read(extra <= overlap_, sink);
  }

 private:
  /// The line at `at` without its line end; moves `at` behind it.
  static std::string_view next_line(std::string_view text, std::size_t& at) noexcept {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end == text.size() ? end : end + 1;
    return line;
  }
  static std::size_t require_line(std::string_view text, std::size_t at, std::size_t record, bool complete) {
    if (at < text.size()) return at;
    throw RecordError{record, complete ? "truncated record: the file ends within it"
                                       : "truncated record: the next one starts within it"};
  }
  static std::string length_mismatch(std::size_t quality, std::size_t sequence, bool at_end);

  void begin_read() {
    codes_.clear();
    first_ = true;
  }

  template <class Sink>
  void append(std::string_view letters, std::size_t offset, Sink& sink) {
    while (!letters.empty()) {
      if (codes_.size() >= kPieceBases) {
        emit(false, sink);
        codes_.erase(codes_.begin(),
                     codes_.end() - static_cast<std::ptrdiff_t>(std::min(overlap_, codes_.size())));
        first_ = false;
      }
      const std::size_t before = codes_.size();
      const std::size_t count = std::min(letters.size(), kPieceBases - before);
      codes_.resize(before + count);
      const std::size_t good = encode_bases(letters.substr(0, count), codes_.data() + before);
      if (good < count)
        throw RecordError{offset + good, describe_letter(letters[good]) + " is not a nucleotide letter"};
      letters.remove_prefix(count);
      offset += count;
    }
  }

  template <class Sink>
  void end_read(bool last, Sink& sink) {
    if (!codes_.empty()) emit(last, sink);
    codes_.clear();
  }

  template <class Sink>
  void emit(bool last, Sink& sink) {
    sink.piece(Piece{codes_.data(), codes_.size(), first_, last});
  }

  std::size_t overlap_;
  std::vector<std::uint8_t> codes_;
  bool first_ = true;
};

}  // namespace kmer
