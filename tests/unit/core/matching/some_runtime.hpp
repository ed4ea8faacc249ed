// A runtime for tests of what only compares runtimes.
#pragma once

namespace weft::detail {
class RuntimeState;
}

namespace weft::core {

/// Nobody may look into it.
inline const detail::RuntimeState& some_runtime() {
  static const int there = 0;
  return reinterpret_cast<const detail::RuntimeState&>(there);
}

}  // namespace weft::core
