#pragma once

#include <memory>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// A job whose ranks live in one process, usually one per thread: for tests under sanitizers, which then see
/// both sides, and for simulated networks. The i-th calls of join() of all ranks under one name form an
/// instance, as with processes.
class Hub {
 public:
  explicit Hub(int ranks, double timeout_seconds = 30);
  ~Hub();

  /// Joins the job as `rank`. Any thread. The result may outlive the hub. Throws weft::Error when this rank
  /// has a runtime of that name open already; see OpenNames.
  std::unique_ptr<Bootstrap> join(int rank, std::string_view name = {});

 private:
  struct Job;
  std::shared_ptr<Job> job_;
};

}  // namespace weft::bootstrap
