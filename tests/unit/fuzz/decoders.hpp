// Everything that takes bytes from outside of the process, each as a function of these bytes: nothing may
// break, whatever they are. fuzz_test.cpp replays and mutates seeds; tests/fuzz/ makes libFuzzer targets of
// the same.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::fuzz {

using Bytes = std::span<const std::byte>;

struct Decoder {
  const char* name;
  std::function<void(Bytes)> take;
  std::vector<std::vector<std::byte>> seeds;  // well-formed
};

std::vector<Decoder> all_decoders();
/// Those of them that take bytes of parcels.
std::vector<Decoder> decoders_of_parcels();

}  // namespace weft::fuzz
