// A libFuzzer target: WEFT_FUZZ_DECODER names the decoder. Built with -DWEFT_FUZZ=ON by clang.
#include "unit/fuzz/decoders.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const weft::fuzz::Decoder decoder = [] {
    for (auto& each : weft::fuzz::all_decoders())
      if (std::string_view(each.name) == WEFT_FUZZ_DECODER) return each;
    std::fprintf(stderr, "fuzz: there is no decoder %s\n", WEFT_FUZZ_DECODER);
    std::abort();
  }();
  decoder.take(std::as_bytes(std::span(data, size)));
  return 0;
}
