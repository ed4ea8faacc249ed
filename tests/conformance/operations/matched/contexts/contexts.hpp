// Matching contexts on every rank of a job in one process, for tests.
#pragma once

#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace weft::test {

/// A context on every rank of a job in one process, of the same key or numbers.
class Contexts {
 public:
  template <class EndpointType>
  Contexts(Ranks<EndpointType>& ranks, const MatchingContextOptions& options) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      own_.push_back(std::make_unique<MatchingContext>(ranks.runtime(rank), options));
  }
  /// Of numbers that rank `giver` has reserved.
  template <class EndpointType>
  Contexts(Ranks<EndpointType>& ranks, int giver, const MatchingContextOptions& options) {
    const ContextNumbers numbers = MatchingContext::reserve(ranks.runtime(giver), options.count);
    for (int rank = 0; rank < ranks.size(); ++rank)
      own_.push_back(
          std::make_unique<MatchingContext>(MatchingContext::of(ranks.runtime(rank), numbers, options)));
  }
  [[nodiscard]] MatchingContext& operator[](int rank) { return *own_[static_cast<std::size_t>(rank)]; }
  void leave(int rank) { own_[static_cast<std::size_t>(rank)].reset(); }

 private:
  std::vector<std::unique_ptr<MatchingContext>> own_;
};

template <class EndpointType, class Tag>
[[nodiscard]] bool post(Ranks<EndpointType>& ranks, int from, int to, const Tag& tag, Bytes bytes,
                        const SendOptions& options = {}) {
  return ranks.progress_until(
      [&] { return ranks.endpoint(from).post_send(to, tag, bytes, options).is_accepted(); });
}

using ContextEndpoints = ::testing::Types<Endpoint, SerialEndpoint>;

}  // namespace weft::test
