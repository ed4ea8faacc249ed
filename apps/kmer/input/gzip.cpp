#include "input/gzip.hpp"

#include "failure.hpp"

#include <fmt/format.h>

namespace kmer {

namespace {
constexpr std::size_t kCompressedBlock = 128U << 10;
constexpr int kGzipWindow = 15 + 16;  // largest window, gzip header and checksum
}  // namespace

GzipStream::GzipStream(const std::string& path)
    : file_(File::open_input(path)), compressed_(kCompressedBlock) {
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK)
    throw InputError(fmt::format("{}: no memory for zlib", path));
}

GzipStream::~GzipStream() { inflateEnd(&stream_); }

void GzipStream::refill() {
  if (stream_.avail_in != 0 || file_ended_) return;
  const std::size_t got = file_.read_at(compressed_.data(), compressed_.size(), file_offset_);
  file_ended_ = got < compressed_.size();
  file_offset_ += got;
  stream_.next_in = reinterpret_cast<Bytef*>(compressed_.data());
  stream_.avail_in = static_cast<uInt>(got);
}

std::size_t GzipStream::read(std::string& text, std::size_t size) {
  const std::size_t before = text.size();
  text.resize(before + size);
  stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
  stream_.avail_out = static_cast<uInt>(size);
  while (stream_.avail_out != 0) {
    refill();
    if (stream_.avail_in == 0) {
      if (in_member_)
        throw InputError(fmt::format("{}: broken gzip data: the file ends early, after {} bytes",
                                     file_.path(), consumed()));
      break;
    }
    if (!in_member_) {
      // Another member, or zeros that a tape or block device has appended.
      if (*stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
        continue;
      }
      inflateReset(&stream_);
      in_member_ = true;
    }
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    if (answer == Z_STREAM_END) {
      in_member_ = false;
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      throw InputError(fmt::format("{}: broken gzip data: {} (near byte {})", file_.path(),
                                   stream_.msg != nullptr ? stream_.msg : "unknown error", consumed()));
    }
  }
  const std::size_t got = size - stream_.avail_out;
  text.resize(before + got);
  return got;
}

}  // namespace kmer
