// Lines of the source, from the table that a compiler writes with -g (DWARF 2 to 5, .debug_line).
#pragma once

#include "bindings/mpi/callers/elf_file.hpp"

#include <optional>

namespace weft::mpi {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
};

/// The line of the source that an address of the file belongs to; nothing where the file does not say, or
/// says it in a form that is not understood.
[[nodiscard]] std::optional<SourceLine> find_line(const ElfFile& file, std::uint64_t address);

}  // namespace weft::mpi
