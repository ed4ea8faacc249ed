// Decompression of gzip files with any number of members.
#pragma once

#include "input/file.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

namespace kmer {

/// Reads a gzip file from its start. One thread at a time.
class GzipStream {
 public:
  explicit GzipStream(const std::string& path);
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream();

  /// Appends up to `size` bytes of decompressed text; returns their number, 0 only at the end. Throws
  /// InputError when the data are damaged or end early.
  std::size_t read(std::string& text, std::size_t size);
  /// Compressed bytes consumed so far.
  [[nodiscard]] std::uint64_t consumed() const noexcept { return file_offset_ - stream_.avail_in; }

 private:
  void refill();

  File file_;
  std::vector<char> compressed_;
  std::uint64_t file_offset_ = 0;
  z_stream stream_{};
  bool in_member_ = true;  // between a member's header and its end
  bool file_ended_ = false;
};

}  // namespace kmer
