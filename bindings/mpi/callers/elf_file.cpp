#include "bindings/mpi/callers/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace weft::mpi {

namespace {

/// The entry `index` of a table of structures; zeros behind its end.
template <class T>
T entry(std::string_view table, std::uint64_t index) noexcept {
  T read{};
  if (index < table.size() / sizeof(T)) std::memcpy(&read, table.data() + index * sizeof(T), sizeof(T));
  return read;
}

std::string_view text_at(std::string_view texts, std::uint64_t offset) noexcept {
  if (offset >= texts.size()) return {};
  const std::string_view rest = texts.substr(static_cast<std::size_t>(offset));
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

ElfFile::ElfFile(const char* path) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (::fstat(file, &status) == 0 && status.st_size > 0) {
    void* const mapping =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping != MAP_FAILED) {
      mapping_ = mapping;
      size_ = static_cast<std::size_t>(status.st_size);
    }
  }
  ::close(file);
  const std::string_view bytes(static_cast<const char*>(mapping_), size_);
  const auto header = entry<ElfW(Ehdr)>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32))
    bytes_ = bytes;
}

ElfFile::~ElfFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
}

std::string_view ElfFile::part(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  return bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

std::string_view ElfFile::section(std::string_view name) const noexcept {
  const auto header = entry<ElfW(Ehdr)>(bytes_, 0);
  const std::string_view table = part(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(ElfW(Shdr)));
  const auto names = entry<ElfW(Shdr)>(table, header.e_shstrndx);
  const std::string_view texts = part(names.sh_offset, names.sh_size);
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    const auto section = entry<ElfW(Shdr)>(table, index);
    if (text_at(texts, section.sh_name) != name) continue;
    if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0) return {};
    return part(section.sh_offset, section.sh_size);
  }
  return {};
}

ElfFile::Function ElfFile::function_at(std::uint64_t address) const {
  for (const auto& [symbols_name, texts_name] :
       {std::pair{".symtab", ".strtab"}, std::pair{".dynsym", ".dynstr"}}) {
    const std::string_view symbols = section(symbols_name), texts = section(texts_name);
    const std::uint64_t count = symbols.size() / sizeof(ElfW(Sym));
    for (std::uint64_t index = 0; index < count; ++index) {
      const auto symbol = entry<ElfW(Sym)>(symbols, index);
      if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_value <= address &&
          address - symbol.st_value < symbol.st_size)
        return {std::string(text_at(texts, symbol.st_name)), symbol.st_value};
    }
  }
  return {};
}

}  // namespace weft::mpi
