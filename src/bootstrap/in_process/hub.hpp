#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// A job whose ranks live in one process, usually one per thread: for tests under sanitizers, which then see
/// both sides, and for simulated networks. The i-th join of every rank forms instance i, as with processes.
class Hub {
 public:
  explicit Hub(int ranks, double timeout_seconds = 30);
  ~Hub();

  /// Any thread. The result may outlive the hub.
  std::unique_ptr<Bootstrap> join(int rank);

 private:
  struct Job;
  std::shared_ptr<Job> job_;
};

}  // namespace weft::bootstrap
