#include "input/input.hpp"

#include "failure.hpp"
#include "input/file.hpp"
#include "input/gzip.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace kmer {

namespace {

constexpr std::uint64_t kLargestUnit = 1U << 20;
constexpr std::uint64_t kSmallestUnit = 64U << 10;
constexpr std::uint64_t kGzipExpansion = 4;  // typical of reads with qualities

/// The format according to the first letter of `text`; `empty` when there are only line ends so far.
Format format_of(std::string_view text, const std::string& path) {
  const std::size_t first = text.find_first_not_of("\r\n");
  if (first == std::string_view::npos) return Format::empty;
  const char letter = text[first];
  if (letter == '>') return Format::fasta;
  if (letter == '@') return Format::fastq;
  const auto byte = static_cast<unsigned char>(letter);
  throw InputError(
      byte >= 0x21 && byte < 0x7f
          ? fmt::format("{}: neither FASTA nor FASTQ: it starts with '{}' instead of '>' or '@'", path,
                        letter)
          : fmt::format("{}: neither FASTA nor FASTQ: it starts with byte 0x{:02x} instead of '>' or '@'",
                        path, byte));
}

}  // namespace

InputFile inspect_input(const std::string& path) {
  const File file = File::open_input(path);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0)
    throw InputError(fmt::format("{}: {}", path, std::strerror(errno)));
  if (S_ISDIR(status.st_mode))
    throw InputError(fmt::format("{}: is a directory, expected a file of reads", path));
  if (!S_ISREG(status.st_mode))
    throw InputError(
        fmt::format("{}: is not a regular file: reads are read in parallel, so pipes do not work", path));

  InputFile input;
  input.path = path;
  input.size = static_cast<std::uint64_t>(status.st_size);
  input.device = status.st_dev;
  input.inode = status.st_ino;

  char start[4096];
  const std::size_t length = file.read_at(start, sizeof start, 0);
  input.is_gzip = length >= 2 && start[0] == '\x1f' && start[1] == '\x8b';
  if (input.is_gzip) {
    GzipStream stream(path);
    std::string text;
    while (text.find_first_not_of("\r\n") == std::string::npos && stream.read(text, 4096) != 0) {
    }
    input.format = format_of(text, path);
  } else {
    input.format = format_of({start, length}, path);
  }
  return input;
}

std::vector<InputFile> inspect_inputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) files.push_back(inspect_input(path));
  return files;
}

std::vector<std::vector<WorkUnit>> plan_units(const std::vector<InputFile>& files, int ranks, int threads) {
  std::vector<std::vector<WorkUnit>> units(ranks);
  std::vector<std::uint64_t> load(ranks, 0);
  const auto assign = [&](const WorkUnit& unit, std::uint64_t cost) {
    const auto lightest = std::min_element(load.begin(), load.end()) - load.begin();
    load[lightest] += cost;
    units[lightest].push_back(unit);
  };

  std::vector<std::size_t> compressed;
  std::uint64_t plain_bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].is_gzip)
      compressed.push_back(i);
    else
      plain_bytes += files[i].size;
  }
  std::stable_sort(compressed.begin(), compressed.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].size > files[b].size; });
  for (const std::size_t i : compressed) assign({i, 0, files[i].size}, files[i].size * kGzipExpansion);

  const auto workers = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(threads);
  const std::uint64_t unit_size = std::clamp(plain_bytes / (workers * 8), kSmallestUnit, kLargestUnit);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].is_gzip || files[i].format == Format::empty) continue;
    for (std::uint64_t begin = 0; begin < files[i].size; begin += unit_size) {
      const std::uint64_t end = std::min(begin + unit_size, files[i].size);
      assign({i, begin, end}, end - begin);
    }
  }
  return units;
}

std::uint64_t estimate_bases(const std::vector<InputFile>& files) {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const InputFile& file) {
                           const std::uint64_t text = file.size * (file.is_gzip ? kGzipExpansion : 1);
                           return sum + (file.format == Format::fastq ? text / 2 : text);
                         });
}

}  // namespace kmer
