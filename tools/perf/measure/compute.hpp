#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Keeps the processor busy before a message, as a program that computes between messages. Without --compute
/// it costs a test with a constant result.
class Compute {
 public:
  explicit Compute(const Task& task) : ns_(task.compute_ns) {}
  [[nodiscard]] bool is_none() const { return ns_ == 0; }
  void operator()() const {
    if (ns_ != 0) [[unlikely]]
      spin();
  }

 private:
  void spin() const {
    for (const std::int64_t end = base::now_ns() + ns_; base::now_ns() < end;) {
    }
  }
  const std::int64_t ns_;
};

}  // namespace weft::tools::perf
