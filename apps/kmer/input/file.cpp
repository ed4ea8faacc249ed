#include "input/file.hpp"

#include "failure.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace kmer {

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File File::open_input(const std::string& path) {
  // O_NONBLOCK: a named pipe without a writer must be refused, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return {path, descriptor};
}

File File::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return {path, descriptor};
}

File File::open_output(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return {path, descriptor};
}

std::size_t File::read_at(char* data, std::size_t size, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(descriptor_, data + done, size - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void File::write_at(const char* data, std::size_t size, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t put = ::pwrite(descriptor_, data + done, size - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    done += static_cast<std::size_t>(put);
  }
}

void File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0)
    throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace kmer
