// What a test can make happen at the moment of an allocation, as at that of a barrier (barrier_watch.hpp).
#pragma once

#include <functional>

namespace weft::test {

/// Calls `hook` at the next allocation of the thread that made this, before there is memory; once.
class AllocationMoment {
 public:
  explicit AllocationMoment(std::function<void()> hook);
  ~AllocationMoment();
  AllocationMoment(const AllocationMoment&) = delete;
  AllocationMoment& operator=(const AllocationMoment&) = delete;

 private:
  std::function<void()> hook_;
};

}  // namespace weft::test
