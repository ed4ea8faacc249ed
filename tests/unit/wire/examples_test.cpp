// Every example of docs/internals/wire.md is made by the code, and has the bytes that are printed there: what
// two sides change together, an order of bytes, a magic number, a field, is noticed although they still
// understand each other.
//
//     WEFTDEV_PRINT_EXAMPLES=1 build/release/bin/tests/unit-wire      prints the section of the document
#include "unit/wire/example.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

namespace weft::test {
namespace {

constexpr const char* kFence = "```";
constexpr const char* kBegin = "```wire ";

std::map<std::string, std::function<ExampleBytes()>>& made() {
  static std::map<std::string, std::function<ExampleBytes()>> all;
  return all;
}

std::map<std::string, std::string> printed() {
  const char* const source = std::getenv("WEFTDEV_SOURCE_DIR");
  const std::string path = std::string(source != nullptr ? source : ".") + "/docs/internals/wire.md";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path + " (WEFTDEV_SOURCE_DIR)");
  std::map<std::string, std::string> all;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kBegin)) {
      name = line.substr(std::string(kBegin).size());
      EXPECT_TRUE(all.emplace(name, "").second) << "printed twice: " << name;
    } else if (line == kFence) {
      name.clear();
    } else if (!name.empty()) {
      all[name] += line + "\n";
    }
  }
  return all;
}

TEST(WireExamples, are_made_by_the_code_as_the_document_prints_them) {
  if (std::getenv("WEFTDEV_PRINT_EXAMPLES") != nullptr)
    for (const auto& [name, make] : made())
      std::cout << kBegin << name << "\n" << make().text() << kFence << "\n\n";
  const std::map<std::string, std::string> document = printed();
  for (const auto& [name, make] : made()) {
    const auto found = document.find(name);
    if (found == document.end()) {
      ADD_FAILURE() << "docs/internals/wire.md lacks\n" << kBegin << name << "\n" << make().text() << kFence;
      continue;
    }
    EXPECT_EQ(make().text(), found->second) << name
                                            << ": the code makes other bytes than docs/internals/wire.md "
                                               "prints. Where that is meant, a version has to be raised";
  }
  for (const auto& [name, bytes] : document)
    EXPECT_EQ(made().count(name), 1U) << "no test makes this example: " << name;
}

}  // namespace

std::string ExampleBytes::text() const {
  std::string text;
  for (std::size_t place = 0; place < bytes_.size(); ++place) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto value = std::to_integer<unsigned>(bytes_[place]);
    text += varies_[place] ? std::string("..") : std::string{kDigits[value >> 4], kDigits[value & 15]};
    text += place % 16 == 15 || place + 1 == bytes_.size() ? '\n' : ' ';
  }
  return text;
}

Example::Example(const char* name, std::function<ExampleBytes()> make) {
  if (!made().emplace(name, std::move(make)).second) std::abort();
}

}  // namespace weft::test
