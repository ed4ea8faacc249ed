#include "bindings/mpi/callers/place.hpp"

#include "bindings/mpi/callers/elf_file.hpp"
#include "bindings/mpi/callers/line_table.hpp"

#include <errno.h>
#include <link.h>

#include <cstdio>
#include <map>
#include <mutex>

namespace weft::mpi {

namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// The program, or a library that it has loaded: what an address lies in.
struct Module {
  std::string path;         // empty: the address lies in none
  std::uintptr_t load = 0;  // what is added to the addresses of its file in this process
};

Module module_of(std::uintptr_t address) {
  struct Search {
    std::uintptr_t address;
    Module found;
  } search{address, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& sought = *static_cast<Search*>(context);
        for (unsigned index = 0; index < info->dlpi_phnum; ++index) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[index];
          if (segment.p_type != PT_LOAD ||
              sought.address - info->dlpi_addr - segment.p_vaddr >= segment.p_memsz)
            continue;
          // The program itself has no name there.
          sought.found = {*info->dlpi_name != 0 ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr};
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

/// The name of the file without its folders.
std::string short_name_of(const Module& module) {
  const std::string path = module.path == "/proc/self/exe" ? ::program_invocation_name : module.path;
  return path.substr(path.rfind('/') + 1);
}

Place find_place(const void* return_address) {
  Place place;
  // The call is before the address that it returns to.
  const std::uintptr_t call = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  const Module module = return_address != nullptr ? module_of(call) : Module{};
  if (module.path.empty()) return place;
  const ElfFile file(module.path.c_str());
  const std::uint64_t address = call - module.load;
  const std::string short_name = short_name_of(module);
  if (const ElfFile::Function function = file.function_at(address); !function.name.empty())
    place.function = function.name + "+" + hexadecimal(address - function.begin) + " of " + short_name;
  else
    place.function = hexadecimal(address) + " of " + short_name;
  if (std::optional<SourceLine> source = find_line(file, address)) {
    place.file = std::move(source->file);
    place.line = source->line;
  }
  return place;
}

}  // namespace

const Place& place_of(const void* return_address) {
  static std::mutex& mutex =
      *new std::mutex;  // until the process ends: calls are told of at the very end, too
  static auto& places = *new std::map<const void*, Place>;
  const std::lock_guard lock(mutex);
  const auto known = places.find(return_address);
  if (known != places.end()) return known->second;
  return places.emplace(return_address, find_place(return_address)).first->second;
}

std::string described(const Place& place) {
  if (place.line == 0) return place.function;
  return place.file + ":" + std::to_string(place.line);
}

}  // namespace weft::mpi
