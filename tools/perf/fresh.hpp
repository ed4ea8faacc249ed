#pragma once

#include <cstdint>
#include <cstring>

#include "perf/task.hpp"
#include "perf/transport.hpp"

namespace weft::tools::perf {

/// The longest payload of --fresh: longer ones are borrowed while they travel, by some libraries.
inline constexpr std::size_t kMostFresh = 8192;

/// Writes a payload right before its post, member by member, as programs do. Without --fresh it costs a test
/// that always comes out alike.
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
      asm volatile("" : "+r"(word));  // else the compiler writes several at a time
      std::memcpy(payload.data() + at, &word, sizeof word);
    }
  }
  const bool is_on_;
};

}  // namespace weft::tools::perf
