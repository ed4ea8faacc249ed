// The file of a program or library, read for the names of its functions and its table of lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::mpi {

/// A file in ELF, mapped for as long as the object lives; one that cannot be read has no sections.
class ElfFile {
 public:
  explicit ElfFile(const char* path) noexcept;
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// The contents of a section; empty where there is none, or where it is compressed.
  [[nodiscard]] std::string_view section(std::string_view name) const noexcept;

  struct Function {
    std::string name;
    std::uint64_t begin = 0;
  };
  /// The function that an address lies in; its name is empty where none is known.
  [[nodiscard]] Function function_at(std::uint64_t address) const;

 private:
  [[nodiscard]] std::string_view part(std::uint64_t offset, std::uint64_t size) const noexcept;

  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::string_view bytes_;
};

}  // namespace weft::mpi
