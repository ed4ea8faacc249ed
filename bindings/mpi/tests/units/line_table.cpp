// Tables of lines as no compiler here writes them, but linkers and others do.
#include "bindings/mpi/callers/line_table.hpp"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A file of ELF with one section, .debug_line.
std::string file_with(const std::string& lines) {
  const std::string names = std::string("\0.debug_line\0.shstrtab", 22) + '\0';
  Elf64_Ehdr header{};
  for (int index = 0; index < SELFMAG; ++index)
    header.e_ident[index] = static_cast<unsigned char>(ELFMAG[index]);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header + lines.size() + names.size();
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  Elf64_Shdr sections[3]{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof header;
  sections[1].sh_size = lines.size();
  sections[2].sh_name = 13;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof header + lines.size();
  sections[2].sh_size = names.size();
  return bytes_of(header) + lines + names + bytes_of(sections);
}

/// A unit of DWARF 5 with these lists of folders and files, and this program.
std::string unit_of(const std::string& lists, const std::string& program) {
  const std::string fields =
      std::string("\x01\x01\x01\xfb\x0e\x0d", 6) + std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12) + lists;
  const std::string unit = bytes_of(std::uint16_t{5}) + std::string("\x08\0", 2) +
                           bytes_of(static_cast<std::uint32_t>(fields.size())) + fields + program;
  return bytes_of(static_cast<std::uint32_t>(unit.size())) + unit;
}

/// Rows from an address on: `line` for `length` bytes.
std::string sequence(std::uint64_t address, char line, std::uint16_t length) {
  return std::string("\0\x09\x02", 3) + bytes_of(address) + std::string("\x03", 1) + line + "\x01" + "\x09" +
         bytes_of(length) + std::string("\0\x01\x01", 3);
}

const std::string kOneFile("\1\1\x08\1.\0\1\1\x08\2a.c\0b.c\0", 18);

std::string found_in(const std::string& lines, std::uint64_t address) {
  char path[] = "line_table.XXXXXX";
  const int descriptor = ::mkstemp(path);
  const std::string bytes = file_with(lines);
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return "no file";
  ::close(descriptor);
  const weft::mpi::ElfFile file(path);
  ::unlink(path);
  const auto found = weft::mpi::find_line(file, address);
  return found ? found->file + ":" + std::to_string(found->line) : "none";
}

int failures = 0;

void expect(const char* what, const std::string& found, const std::string& expected) {
  if (found == expected) return;
  std::fprintf(stderr, "%s: %s, and %s is right\n", what, found.c_str(), expected.c_str());
  ++failures;
}

}  // namespace

int main() {
  expect("a line", found_in(unit_of(kOneFile, sequence(0x1000, 41, 16)), 0x1004), "b.c:42");
  expect("behind it", found_in(unit_of(kOneFile, sequence(0x1000, 41, 16)), 0x1010), "none");
  expect("a function that the linker has left out",
         found_in(unit_of(kOneFile, sequence(0, 6, 0x2000) + sequence(0x1000, 41, 16)), 0x1004), "b.c:42");
  // 2^62 folders of which nothing is said.
  const std::string many("\0\x80\x80\x80\x80\x80\x80\x80\x80\x40", 10);
  expect("folders of no fields",
         found_in(unit_of(many + std::string("\0\0", 2), sequence(0x1000, 41, 16)), 0x1004), "none");
  expect("no folders",
         found_in(unit_of(std::string("\0\0", 2) + kOneFile.substr(6), sequence(0x1000, 41, 16)), 0x1004),
         "b.c:42");
  return failures;
}
