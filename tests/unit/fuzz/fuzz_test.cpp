// Seeds of every decoder, its corpus, and what mutations make of them. The mutations are the same in every
// run.
#include "unit/fuzz/allocations.hpp"
#include "unit/fuzz/decoders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>

namespace weft::fuzz {

// For GoogleTest.
void PrintTo(const Decoder& decoder, std::ostream* out) { *out << decoder.name; }

namespace {

/// Inputs that have reached something, or have failed once: tests/fuzz/corpus/NAME/.
std::vector<Seed> corpus_of(const Decoder& decoder) {
  std::vector<Seed> inputs = decoder.seeds;
  const char* const source = std::getenv("WEFTDEV_SOURCE_DIR");
  const auto folder =
      std::filesystem::path(source != nullptr ? source : ".") / "tests" / "fuzz" / "corpus" / decoder.name;
  if (!std::filesystem::is_directory(folder)) return inputs;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    inputs.push_back(seed_of_text(std::string{std::istreambuf_iterator<char>(file), {}}));
  }
  return inputs;
}

Seed mutate(Seed bytes, std::mt19937& random) {
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
        const Seed copy(bytes.begin() + static_cast<std::ptrdiff_t>(place), bytes.end());
        bytes.insert(bytes.end(), copy.begin(), copy.end());
      }
    }
  }
  return bytes;
}

class Decoders : public ::testing::TestWithParam<Decoder> {
 protected:
  /// A length that is announced is no reason to take memory: that comes with the bytes.
  static void take(const Decoder& decoder, const Seed& input) {
    const LargestAllocation largest;
    decoder.take(input);
    ASSERT_LE(largest.bytes(), decoder.memory + 64 * input.size())
        << "for an input of " << input.size() << " bytes";
  }
};

TEST_P(Decoders, take_their_seeds_and_their_corpus) {
  for (const Seed& input : corpus_of(GetParam())) take(GetParam(), input);
}

TEST_P(Decoders, take_whatever_becomes_of_these) {
  const auto inputs = corpus_of(GetParam());
  std::mt19937 random(1);
  for (int round = 0; round < GetParam().mutations && !HasFatalFailure(); ++round)
    take(GetParam(), mutate(inputs[random() % inputs.size()], random));
}

INSTANTIATE_TEST_SUITE_P(all, Decoders, ::testing::ValuesIn(all_decoders()), [](const auto& decoder) {
  std::string name = decoder.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace weft::fuzz
