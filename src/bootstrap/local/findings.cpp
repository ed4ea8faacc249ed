#include "bootstrap/local/findings.hpp"

#include <utility>

namespace weft::bootstrap::local {

void Findings::add(const Unfinished& rank) {
  const auto index = static_cast<std::size_t>(rank.rank);
  if (is_known_unfinished_[index]) return;
  is_known_unfinished_[index] = true;
  unfinished_.push_back(rank);
}

void Findings::abort(int rank, int code, std::string reason) {
  if (aborted_) return;
  const int shown = code & 0xff;  // as of the end of a process; 0 would be none
  aborted_ = Abort{rank, shown == 0 ? 1 : shown, std::move(reason)};
}

}  // namespace weft::bootstrap::local
