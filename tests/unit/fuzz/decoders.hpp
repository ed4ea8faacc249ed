// Everything that takes bytes from outside of the process, each as a function of these bytes: nothing may
// break, whatever they are. fuzz_test.cpp replays and mutates seeds; tests/fuzz/ lets libFuzzer do the same.
#pragma once

#include "base/descriptor.hpp"

#include <weft/error.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fuzz {

using Bytes = std::span<const std::byte>;
using Seed = std::vector<std::byte>;

/// Memory that a decoder may take whatever its input is; beyond that it is in proportion to the input.
inline constexpr std::size_t kMemory = std::size_t{192} << 10;

struct Decoder {
  const char* name;
  std::function<void(Bytes)> take;
  std::vector<Seed> seeds;  // well-formed
  std::size_t memory = kMemory;
  int mutations = 5000;  // for the tests of the tier quick
};

/// Where a file of decoders tells of them: programs that lack a part of the tree lack the file.
class Registration {
 public:
  explicit Registration(std::vector<Decoder> (*decoders)());
};

std::vector<Decoder> all_decoders();

/// Seeds of objects one behind the other, and of text.
template <class... Objects>
Seed seed_of(const Objects&... objects) {
  Seed seed;
  const auto append = [&seed](const auto& object) {
    const auto bytes = std::as_bytes(std::span(&object, 1));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  (append(objects), ...);
  return seed;
}
inline Seed seed_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Calls, and takes weft::Error for an answer: what was read is not what it should be. Nothing else may be
/// thrown.
template <class Call>
void try_to(const Call& call) {
  try {
    call();
  } catch (const Error&) {
    return;
  }
}

/// Two sockets of this process that are connected.
struct Pair {
  Pair();
  /// The other end has sent these bytes, and sends no more.
  explicit Pair(Bytes sent);
  base::Descriptor own;
  base::Descriptor peer;
};

/// A file with these bytes, for what reads files by their names.
class File {
 public:
  explicit File(Bytes bytes);
  [[nodiscard]] std::string path() const;
  [[nodiscard]] base::Descriptor take() noexcept { return std::move(file_); }

 private:
  base::Descriptor file_;
};

}  // namespace weft::fuzz
