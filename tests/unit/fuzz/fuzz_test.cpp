// Seeds of every decoder, and what mutations make of them. The mutations are the same in every run.
#include "unit/fuzz/decoders.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace weft::fuzz {
namespace {

/// Inputs on which a decoder has failed once: tests/fuzz/corpus/NAME/.
std::vector<std::vector<std::byte>> corpus_of(const Decoder& decoder) {
  std::vector<std::vector<std::byte>> inputs = decoder.seeds;
  const char* const source = std::getenv("WEFTDEV_SOURCE_DIR");
  const auto folder =
      std::filesystem::path(source != nullptr ? source : ".") / "tests" / "fuzz" / "corpus" / decoder.name;
  if (!std::filesystem::is_directory(folder)) return inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  return inputs;
}

std::vector<std::byte> mutate(std::vector<std::byte> bytes, std::mt19937& random) {
  for (std::uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
    const auto place = bytes.empty() ? 0 : random() % bytes.size();
    switch (random() % 5) {
      case 0:
        if (!bytes.empty()) bytes[place] = static_cast<std::byte>(random());
        break;
      case 1:
        if (!bytes.empty()) bytes[place] = random() % 2 == 0 ? std::byte{0xff} : std::byte{0};
        break;
      case 2:
        bytes.resize(place);
        break;
      case 3:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place), random() % 9,
                     static_cast<std::byte>(random()));
        break;
      default: {
        const std::vector<std::byte> copy(bytes.begin() + static_cast<std::ptrdiff_t>(place), bytes.end());
        bytes.insert(bytes.end(), copy.begin(), copy.end());
      }
    }
  }
  return bytes;
}

TEST(Decoders, take_whatever_comes) {
  for (const Decoder& decoder : all_decoders()) {
    SCOPED_TRACE(decoder.name);
    const auto inputs = corpus_of(decoder);
    const bool is_slow =
        std::string_view(decoder.name) == "records" || std::string_view(decoder.name) == "frames";
    std::mt19937 random(1);
    for (const auto& input : inputs) decoder.take(input);
    for (int round = 0; round < (is_slow ? 200 : 20'000); ++round)
      decoder.take(mutate(inputs[random() % inputs.size()], random));
  }
}

}  // namespace
}  // namespace weft::fuzz
