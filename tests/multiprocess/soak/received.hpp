// Which messages of a sender have arrived: none twice, and in the end all of them.
#pragma once

#include "support/rank_program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

/// The numbers of one sender that have arrived. They come nearly in order, so the window stays small. One
/// thread at a time.
class Received {
 public:
  void note(std::uint64_t number) {
    require(number >= begin_, "message " + std::to_string(number) + " came twice");
    const std::uint64_t place = number - begin_;
    if (place >= seen_.size()) seen_.resize(place + 1);
    require(!seen_[place], "message " + std::to_string(number) + " came twice");
    seen_[place] = true;
    ++count_;
    std::size_t complete = 0;
    while (complete < seen_.size() && seen_[complete]) ++complete;
    if (complete < 1024) return;
    seen_.erase(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(complete));
    begin_ += complete;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t count_ = 0;
  std::vector<bool> seen_;
};

}  // namespace weft::test
