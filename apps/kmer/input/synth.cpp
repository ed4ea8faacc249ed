#include "input/synth.hpp"

#include "failure.hpp"
#include "input/file.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "common/files/removed_on_signal.hpp"

namespace kmer {

namespace {

constexpr std::string_view kMark = "@weft-kmer-synth.";  // how every header starts

/// SplitMix64 (Steele, Lea, Flood 2014): a counter, mixed. The standard library's distributions differ
/// between implementations, so numbers are drawn by hand.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A number below `bound`; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ typedef unsigned __int128 Product;
    return static_cast<std::uint64_t>((static_cast<Product>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

void check_replaceable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode)) throw InputError(fmt::format("{}: exists and is not a regular file", path));
  const File file = File::open_input(path);
  char start[kMark.size()];
  const std::size_t length = file.read_at(start, sizeof start, 0);
  if (std::string_view(start, length) != kMark)
    throw InputError(fmt::format(
        "{}: exists and was not written by weft-kmer synth: remove it or choose another --output", path));
}

}  // namespace

void write_synthetic_reads(const SynthOptions& options) {
  check_replaceable(options.output);
  const std::string temporary = fmt::format("{}.partial-{}", options.output, ::getpid());
  const weft::tools::RemovedOnSignal removed(temporary);
  File file;
  try {
    file = File::create(temporary);
  } catch (const InputError&) {
    throw InputError(fmt::format("{}: cannot be written: {}", options.output, std::strerror(errno)));
  }
  try {
    Random random(options.seed);
    std::string genome(options.length, '\0');
    for (char& base : genome) base = "ACGT"[random.next() >> 62];

    // A base is wrong when its random number is below the threshold.
    const double scaled = std::ldexp(options.error_rate, 32);
    const auto threshold = static_cast<std::uint64_t>(std::llround(scaled));
    const auto reads = static_cast<std::uint64_t>(std::llround(
        static_cast<double>(options.length) * options.coverage / static_cast<double>(options.read_length)));
    const std::string tail = "\n+\n" + std::string(options.read_length, 'I') + "\n";
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    std::string text;
    std::uint64_t offset = 0;
    const auto flush = [&] {
      file.write_at(text.data(), text.size(), offset);
      offset += text.size();
      text.clear();
    };
    char number[24];
    for (std::uint64_t i = 0; i < reads; ++i) {
      const std::uint64_t start = random.below(options.length - options.read_length + 1);
      const bool is_reverse = (random.next() >> 63) != 0;
      text += kMark;
      text.append(number, std::to_chars(number, number + sizeof number, i + 1).ptr);
      text += '\n';
      for (std::uint64_t j = 0; j < options.read_length; ++j) {
        unsigned code = 0;
        const char base = genome[is_reverse ? start + options.read_length - 1 - j : start + j];
        code = base == 'A' ? 0 : base == 'C' ? 1 : base == 'G' ? 2 : 3;
        if (is_reverse) code = 3 - code;
        const std::uint64_t draw = random.next();
        if ((draw >> 32) < threshold)
          code = (code + 1 + static_cast<unsigned>((draw & 0xffffffffU) * 3 >> 32)) & 3U;
        text += "ACGT"[code];
      }
      text += tail;
      if (text.size() >= kBlock) flush();
    }
    flush();
    file.close();
    if (std::rename(temporary.c_str(), options.output.c_str()) != 0)
      throw InputError(fmt::format("{}: cannot be written: {}", options.output, std::strerror(errno)));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace kmer
