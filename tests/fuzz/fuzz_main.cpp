// libFuzzer with all decoders in one program: --decoder=NAME chooses, --list names them, --seeds=FOLDER
// writes the seeds of the chosen one.
#include "unit/fuzz/decoders.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace {

weft::fuzz::Decoder g_decoder{};

std::string option(int count, char** arguments, std::string_view name) {
  for (int index = 1; index < count; ++index)
    if (const std::string_view argument(arguments[index]); argument.starts_with(name))
      return std::string(argument.substr(name.size()));
  return {};
}

void write_seeds(const std::string& folder) {
  int number = 0;
  for (const weft::fuzz::Seed& seed : g_decoder.seeds) {
    std::ofstream file(std::filesystem::path(folder) / ("seed-" + std::to_string(++number)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace

// libFuzzer leaves options with two hyphens alone, and gives them to the processes that it starts.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string name = option(*count, *arguments, "--decoder=");
  for (int index = 1; index < *count; ++index) {
    if (std::string_view((*arguments)[index]) != "--list") continue;
    for (const auto& each : weft::fuzz::all_decoders()) std::printf("%s\n", each.name);
    std::exit(0);
  }
  for (auto& each : weft::fuzz::all_decoders())
    if (each.name == name) g_decoder = each;
  if (!g_decoder.take) {
    std::fprintf(stderr, "fuzz: there is no decoder '%s'; --list names those that there are\n", name.c_str());
    std::exit(2);
  }
  if (const std::string folder = option(*count, *arguments, "--seeds="); !folder.empty()) {
    write_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  g_decoder.take(std::as_bytes(std::span(data, size)));
  return 0;
}
