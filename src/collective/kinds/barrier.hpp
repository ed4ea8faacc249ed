// The barrier, by dissemination.
#pragma once

#include "collective/kinds/steps.hpp"

namespace weft::collective {

struct Barrier {
  static constexpr auto kKind = detail::CollectiveKind::barrier;
  static constexpr KindTraits kTraits{.name = "barrier", .meets_all = true};

  static void check(const detail::CollectiveCall&, int, int) {}

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall&, int rank, int size) {
    std::uint32_t step = 0;
    for (int distance = 1; distance < size; distance *= 2, ++step) {
      steps.send((rank + distance) % size, {}, step);
      steps.receive((rank + size - distance) % size, {}, step, true);
      steps.join();
    }
  }
};

}  // namespace weft::collective
