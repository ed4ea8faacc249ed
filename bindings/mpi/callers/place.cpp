#include "bindings/mpi/callers/place.hpp"

#include "bindings/mpi/callers/elf_file.hpp"
#include "bindings/mpi/callers/line_table.hpp"

#include <dlfcn.h>

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

Place find_place(const void* return_address) {
  Place place;
  Dl_info module{};
  // The call is before the address that it returns to.
  const void* const call = static_cast<const char*>(return_address) - 1;
  if (return_address == nullptr || dladdr(call, &module) == 0 || module.dli_fname == nullptr) return place;
  const std::string name = module.dli_fname;
  // The name of the program itself is what it was started by, which need not be a path from here.
  const ElfFile file(name.starts_with('/') ? name.c_str() : "/proc/self/exe");
  const std::uint64_t address = file.address_in_file(reinterpret_cast<std::uintptr_t>(call),
                                                     reinterpret_cast<std::uintptr_t>(module.dli_fbase));
  const std::string short_name = name.substr(name.rfind('/') + 1);
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
