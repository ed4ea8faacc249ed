#pragma once

#include <cstdint>
#include <cstring>

#include "perf/measure/byte_spans.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// The longest payload of --fresh: some libraries borrow longer ones until they have been sent.
inline constexpr std::size_t kMostFresh = 8192;

/// Writes a payload right before its post, member by member, as programs do. Without --fresh it costs a test
/// with a constant result.
class Fresh {
 public:
  explicit Fresh(const Task& task) : is_on_(task.fresh) {}
  void operator()(ByteSpan payload, std::uint64_t number) const {
    if (is_on_) [[unlikely]]
      write(payload, number);
  }

 private:
  static void write(ByteSpan payload, std::uint64_t number) {
    for (std::size_t at = 0; at + sizeof number <= payload.size(); at += sizeof number) {
      std::uint64_t word = number + at;
      asm volatile("" : "+r"(word));  // otherwise the compiler writes several words at a time
      std::memcpy(payload.data() + at, &word, sizeof word);
    }
  }
  const bool is_on_;
};

}  // namespace weft::tools::perf
