// Input files: their formats, and their division among ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kmer {

enum class Format : std::uint8_t {
  empty,  ///< no bytes, or none but line ends
  fasta,  ///< '>' header, any number of sequence lines
  fastq,  ///< four lines a record: '@' header, sequence, '+', quality
};

/// A readable regular file. Device and inode tell whether an output would overwrite it.
struct InputFile {
  std::string path;
  Format format = Format::empty;
  bool is_gzip = false;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

/// Inspects the content of the file, not its name. Throws InputError.
[[nodiscard]] InputFile inspect_input(const std::string& path);
[[nodiscard]] std::vector<InputFile> inspect_inputs(const std::vector<std::string>& paths);

/// A byte range of a plain file, or a whole gzip file (end = its size).
struct WorkUnit {
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The units of each rank: gzip files whole, the largest first to the rank with the least work, then byte
/// ranges of plain files small enough to occupy `threads` threads per rank. Every rank computes the same
/// result.
[[nodiscard]] std::vector<std::vector<WorkUnit>> plan_units(const std::vector<InputFile>& files, int ranks,
                                                            int threads);

/// An estimate of the number of bases in all files; results never depend on it.
[[nodiscard]] std::uint64_t estimate_bases(const std::vector<InputFile>& files);

}  // namespace kmer
