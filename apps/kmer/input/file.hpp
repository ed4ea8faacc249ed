// A file descriptor with an owner and errors that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace kmer {

class File {
 public:
  File() noexcept = default;
  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File();

  /// Throws InputError when the file cannot be read or written.
  [[nodiscard]] static File open_input(const std::string& path);
  /// Creates a file that must not exist yet.
  [[nodiscard]] static File create(const std::string& path);
  /// Opens a file that another rank has created.
  [[nodiscard]] static File open_output(const std::string& path);

  /// Reads up to `size` bytes from `offset`; fewer only at the end of the file. Throws InputError.
  std::size_t read_at(char* data, std::size_t size, std::uint64_t offset) const;
  /// Writes all `size` bytes to `offset`. Throws InputError (a full disk, for example).
  void write_at(const char* data, std::size_t size, std::uint64_t offset) const;
  /// Closes the file and reports errors. Throws InputError.
  void close();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace kmer
