#include "common/files/output_file.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace weft::tools {

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)), target_(path_) {
  std::error_code error;
  if (std::filesystem::is_symlink(path_, error))
    if (const auto target = std::filesystem::canonical(path_, error); !error) target_ = target.string();
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail();
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail();
  constexpr mode_t kNewFile = 0666;
  temporary_ = fmt::format("{}.partial-{}", target_, ::getpid());
  removed_on_signal_.emplace(temporary_);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kNewFile);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail();
  }
  if (exists) ::fchmod(descriptor_, status.st_mode & 07777);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail() const { throw Error(fmt::format("{} {}: {}", option_, path_, std::strerror(errno))); }

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno != EINTR) fail();
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  close();
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
}

void make_report_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw Error(fmt::format("--report {}: {}", path, failure.message()));
  if (::access(path.c_str(), W_OK) != 0)
    throw Error(fmt::format("--report {}: {}", path, std::strerror(errno)));
}

}  // namespace weft::tools
