#include "input/read_source.hpp"

#include "failure.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kmer {

namespace {

constexpr std::size_t kFirstSlack =
    4096;  // read behind a range at first; doubled until the boundary is visible

std::uint64_t count_lines(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The end of a batch that should own `target` bytes, and the text that it must see.
struct Cut {
  std::size_t owned;
  std::size_t visible;
};

/// Finds the end of a batch. Throws nothing; `visible` is kNeedMore when the text must grow first.
Cut find_cut(Format format, std::string_view text, std::size_t target, std::size_t lookahead, bool complete) {
  if (format == Format::fastq) {
    const std::size_t end =
        target >= text.size() && complete ? text.size() : find_fastq_record(text, target, complete);
    return {end, end};
  }
  if (target >= text.size()) return {text.size(), complete ? text.size() : kNeedMore};
  return {target, fasta_lookahead(text, target, lookahead, complete)};
}

}  // namespace

ReadSource::ReadSource(const std::vector<InputFile>& files, const std::vector<WorkUnit>& units, int k,
                       std::size_t gzip_batch)
    : files_(files), lookahead_(static_cast<std::size_t>(k)), gzip_batch_(gzip_batch), open_(files.size()) {
  for (const WorkUnit& unit : units) {
    const InputFile& file = files[unit.file];
    bytes_total_ += unit.end - unit.begin;
    if (file.is_gzip) {
      compressed_.emplace_back(unit.file, file.path);
    } else {
      ranges_.push_back(unit);
      if (open_[unit.file].descriptor() < 0) open_[unit.file] = File::open_input(file.path);
    }
  }
}

double ReadSource::progress() const noexcept {
  return bytes_total_ == 0 ? 1.0 : static_cast<double>(bytes()) / static_cast<double>(bytes_total_);
}

ReadSource::Answer ReadSource::next(TextBatch& batch) {
  bool busy = false;
  for (Compressed& input : compressed_) {
    // Pairs with the release in next_compressed(): the file is exhausted.
    if (input.exhausted.load(std::memory_order_acquire)) continue;
    const std::unique_lock lock(input.mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
      busy = true;
    } else if (!input.exhausted.load(std::memory_order_relaxed) && next_compressed(input, batch)) {
      bytes_done_.fetch_add(batch.input_bytes, std::memory_order_relaxed);
      return Answer::batch;
    }
  }
  while (true) {
    const std::size_t i = next_range_.fetch_add(1, std::memory_order_relaxed);
    if (i >= ranges_.size()) return busy ? Answer::busy : Answer::exhausted;
    const WorkUnit& unit = ranges_[i];
    const bool has_records = read_range(unit, batch);
    bytes_done_.fetch_add(unit.end - unit.begin, std::memory_order_relaxed);
    if (has_records) return Answer::batch;
  }
}

bool ReadSource::next_compressed(Compressed& input, TextBatch& batch) {
  const Format format = files_[input.file].format;
  Cut cut{};
  std::size_t wanted = gzip_batch_ + kFirstSlack;
  while (true) {
    while (!input.ended && input.pending.size() < wanted)
      input.ended = input.stream.read(input.pending, wanted - input.pending.size()) == 0;
    cut = find_cut(format, input.pending, gzip_batch_, lookahead_, input.ended);
    if (cut.visible != kNeedMore) break;
    wanted *= 2;
  }
  // FASTA lines that start before the target are owned to their ends.
  const std::string_view pending = input.pending;
  std::size_t behind = cut.owned;
  if (format == Format::fasta) behind = find_line(pending, cut.owned, cut.visible);

  batch.buffer.assign(pending.substr(0, cut.visible));
  batch.start = 0;
  batch.size = cut.visible;
  batch.owned = cut.owned;
  batch.starts_read = input.starts_read;
  batch.complete = input.ended && cut.visible == pending.size();
  batch.file = input.file;
  batch.position = input.lines;
  batch.input_bytes = input.stream.consumed() - input.accounted;

  input.accounted = input.stream.consumed();
  input.lines += count_lines(pending.substr(0, behind));
  if (format == Format::fasta) {
    const std::size_t last =
        behind == 0 ? std::string_view::npos : pending.find_last_not_of("\r\n", behind - 1);
    if (last != std::string_view::npos) {
      const std::size_t before = pending.rfind('\n', last);
      input.starts_read = pending[before == std::string_view::npos ? 0 : before + 1] == '>';
    }
  }
  input.pending.erase(0, behind);
  if (input.ended && input.pending.empty()) input.exhausted.store(true, std::memory_order_release);
  return batch.size != 0;
}

bool ReadSource::read_range(const WorkUnit& unit, TextBatch& batch) const {
  const File& file = open_[unit.file];
  const InputFile& input = files_[unit.file];
  // The byte before tells whether a line starts at unit.begin.
  const std::uint64_t origin = unit.begin == 0 ? 0 : unit.begin - 1;
  const auto begin = static_cast<std::size_t>(unit.begin - origin);
  const auto end = static_cast<std::size_t>(unit.end - origin);
  const bool is_fastq = input.format == Format::fastq;

  batch.buffer.clear();
  std::size_t start = 0;
  Cut cut{};
  for (std::size_t slack = kFirstSlack;; slack *= 2) {
    const std::size_t have = batch.buffer.size();
    batch.buffer.resize(end + slack);
    const std::size_t got =
        file.read_at(batch.buffer.data() + have, batch.buffer.size() - have, origin + have);
    batch.buffer.resize(have + got);
    batch.complete = batch.buffer.size() < end + slack;
    const std::string_view text = batch.buffer;
    start = is_fastq ? (begin == 0 ? 0 : find_fastq_record(text, begin, batch.complete))
                     : find_line(text, begin, end);
    if (start == kNeedMore) continue;
    if (start >= std::min(end, text.size())) return false;
    cut = find_cut(input.format, text, end, lookahead_, batch.complete);
    if (cut.visible != kNeedMore) break;
  }
  batch.start = start;
  batch.size = cut.visible - start;
  batch.owned = cut.owned - start;
  batch.complete = batch.complete && cut.visible == batch.buffer.size();
  batch.file = unit.file;
  batch.position = origin + start;
  batch.input_bytes = unit.end - unit.begin;
  batch.starts_read = !is_fastq && origin + start != 0 && header_precedes(file, origin + start);
  return true;
}

bool ReadSource::header_precedes(const File& file, std::uint64_t line_start) const {
  char block[4096];
  char first_letter = '\n';  // of the last line that is not blank, as far as it has been read
  std::uint64_t end = line_start;
  while (end > 0) {
    const std::uint64_t size = std::min<std::uint64_t>(sizeof block, end);
    const std::size_t got = file.read_at(block, static_cast<std::size_t>(size), end - size);
    for (std::size_t i = got; i > 0; --i) {
      const char letter = block[i - 1];
      if (letter != '\n' && letter != '\r')
        first_letter = letter;
      else if (letter == '\n' && first_letter != '\n')
        return first_letter == '>';
    }
    end -= size;
  }
  return first_letter == '>';
}

void ReadSource::raise(const TextBatch& batch, const RecordError& error) const {
  const InputFile& input = files_[batch.file];
  std::uint64_t line = 1 + count_lines(batch.text().substr(0, error.offset));
  if (input.is_gzip) {
    line += batch.position;
  } else {
    std::string block(std::size_t{1} << 20, '\0');
    for (std::uint64_t at = 0; at < batch.position;) {
      const std::uint64_t size = std::min<std::uint64_t>(block.size(), batch.position - at);
      const std::size_t got = open_[batch.file].read_at(block.data(), static_cast<std::size_t>(size), at);
      if (got == 0) break;
      line += count_lines(std::string_view(block).substr(0, got));
      at += got;
    }
  }
  throw InputError(fmt::format("{}:{}: {}", input.path, line, error.message));
}

}  // namespace kmer
