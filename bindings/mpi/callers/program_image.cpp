#include "bindings/mpi/callers/program_image.hpp"

#include <link.h>

#include <cstddef>
#include <initializer_list>

namespace weft::mpi {

namespace {

struct Image {
  std::uintptr_t begin = 0, end = 0;       // addresses in this process
  std::uint64_t sum = 0xcbf29ce484222325;  // of what its segments are
};

Image read_image() noexcept {
  Image image;
  // The program itself comes first.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& found = *static_cast<Image*>(context);
        for (unsigned index = 0; index < info->dlpi_phnum; ++index) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[index];
          for (const std::uint64_t value :
               {std::uint64_t{segment.p_type}, segment.p_vaddr, segment.p_filesz, segment.p_memsz})
            found.sum = (found.sum ^ value) * 0x100000001b3;
          if (segment.p_type != PT_LOAD) continue;
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (found.end == 0) found.begin = begin;
          found.end = begin + segment.p_memsz;
        }
        return 1;
      },
      &image);
  return image;
}

const Image& image() noexcept {
  static const Image read = read_image();
  return read;
}

}  // namespace

std::uint64_t program_image() noexcept { return image().sum; }

std::uint64_t offset_in_program(const void* address) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return value >= image().begin && value < image().end ? value - image().begin : 0;
}

const void* address_in_program(std::uint64_t offset) noexcept {
  if (offset == 0 || offset >= image().end - image().begin) return nullptr;
  return reinterpret_cast<const void*>(image().begin + offset);
}

}  // namespace weft::mpi
