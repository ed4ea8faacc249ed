#include "bootstrap/checks.hpp"

#include <weft/error.hpp>

#include <string>

#include "base/text/parse.hpp"
#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

void check_rank(int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw Error(ErrorClass::job, "rank " + std::to_string(rank) + " does not exist: the job has ranks 0 to " +
                                   std::to_string(size - 1));
}

void check_key(std::string_view key) {
  if (!key.empty() && key.size() <= kMaximumKey) return;
  throw Error(ErrorClass::job, "a bootstrap key of " + std::to_string(key.size()) +
                                   " characters: it must have 1 to " + std::to_string(kMaximumKey));
}

void check_value(std::string_view key, std::size_t bytes) {
  if (bytes <= kMaximumValue) return;
  throw Error(ErrorClass::job, "the bootstrap value \"" + std::string(key) + "\" has " +
                                   std::to_string(bytes) + " bytes: at most " +
                                   std::to_string(kMaximumValue) + " are carried");
}

void check_gathered(int size, std::size_t mine, std::size_t all) {
  if (mine > kMaximumValue || mine * static_cast<std::size_t>(size) > kMaximumGathered) {
    throw Error(ErrorClass::job, "allgather of " + std::to_string(mine) + " bytes from each of " +
                                     std::to_string(size) + " ranks: at most " +
                                     std::to_string(kMaximumValue) + " per rank and " +
                                     std::to_string(kMaximumGathered) + " in total are carried");
  }
  if (all == mine * static_cast<std::size_t>(size)) return;
  throw Error(ErrorClass::job, "allgather of " + std::to_string(mine) + " bytes from each of " +
                                   std::to_string(size) + " ranks into " + std::to_string(all) +
                                   " bytes: it must be " +
                                   std::to_string(mine * static_cast<std::size_t>(size)));
}

void fail_published_twice(int rank, std::string_view key) {
  throw Error(ErrorClass::job, "rank " + std::to_string(rank) + " publishes \"" + std::string(key) +
                                   "\" a second time: a key is published once");
}

void fail_not_published(int rank, std::string_view key, double timeout_seconds) {
  throw Error(ErrorClass::job, "rank " + std::to_string(rank) + " has not published \"" + std::string(key) +
                                   "\" within " + base::seconds_text(timeout_seconds) +
                                   " s (WEFT_BOOTSTRAP_TIMEOUT)");
}

}  // namespace weft::bootstrap
