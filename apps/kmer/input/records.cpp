#include "input/records.hpp"

#include <fmt/format.h>

namespace kmer {

namespace {

/// The start of the line behind the one at `at`, kNeedMore, or text.size() when the text ends first.
std::size_t following_line(std::string_view text, std::size_t at, bool complete) {
  const std::size_t end = text.find('\n', at);
  if (end != std::string_view::npos && (end + 1 < text.size() || complete)) return end + 1;
  return complete ? text.size() : kNeedMore;
}

}  // namespace

std::size_t find_fastq_record(std::string_view text, std::size_t from, bool complete) {
  std::size_t at = from;
  if (from > 0 && from <= text.size() && text[from - 1] != '\n') at = following_line(text, from, complete);
  while (at != kNeedMore && at < text.size()) {
    const std::size_t second = following_line(text, at, complete);
    if (second == kNeedMore) return kNeedMore;
    if (text[at] == '@') {
      const std::size_t third = second == text.size() ? second : following_line(text, second, complete);
      if (third == kNeedMore) return kNeedMore;
      if (third < text.size() && text[third] == '+') return at;
    }
    at = second;
  }
  if (at == kNeedMore || complete) return at;
  return kNeedMore;
}

std::size_t find_line(std::string_view text, std::size_t from, std::size_t limit) {
  limit = std::min(limit, text.size());
  if (from == 0) return 0;
  if (from >= limit) return limit;
  const std::size_t end = text.substr(0, limit).find('\n', from - 1);
  return end == std::string_view::npos ? limit : end + 1;
}

std::size_t fasta_lookahead(std::string_view text, std::size_t from, std::size_t bases, bool complete) {
  std::size_t seen = 0;
  std::size_t at = from;
  // The rest of a line that started before `from` belongs to the owner and does not count.
  if (at > 0 && at <= text.size() && text[at - 1] != '\n') at = following_line(text, at, complete);
  while (at != kNeedMore && at < text.size()) {
    if (text[at] == '>') return at + 1;
    const std::size_t end = text.find('\n', at);
    const std::size_t line_end = end == std::string_view::npos ? text.size() : end;
    seen += line_end - at;
    if (seen > 0 && text[line_end - 1] == '\r' && line_end > at) --seen;
    if (seen >= bases) return line_end;
    at = following_line(text, at, complete);
  }
  if (at == kNeedMore || complete) return at;
  return kNeedMore;
}

std::string describe_letter(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte >= 0x21 && byte < 0x7f ? fmt::format("'{}'", letter) : fmt::format("byte 0x{:02x}", byte);
}

std::string describe_start(std::string_view line) {
  return line.empty() ? "an empty line" : describe_letter(line[0]);
}

std::string RecordParser::length_mismatch(std::size_t quality, std::size_t sequence, bool at_end) {
  if (at_end && quality < sequence)
    return fmt::format("truncated record: the file ends after {} of {} qualities", quality, sequence);
  return fmt::format("{} qualities for {} bases: both lines of a FASTQ record must have the same length",
                     quality, sequence);
}

}  // namespace kmer
