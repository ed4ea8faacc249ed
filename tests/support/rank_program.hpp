// What the rank programs of the multi-process tests share.
#pragma once

#include "support/ranks.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::test {

/// Ends the program: the launcher reports the rank and ends the others.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(1);
}
inline void require(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

/// "--name value" of the command line, or `otherwise`.
inline std::string option(int count, char** arguments, const std::string& name,
                          const std::string& otherwise) {
  for (int index = 1; index + 1 < count; ++index)
    if (arguments[index] == "--" + name) return arguments[index + 1];
  return otherwise;
}

}  // namespace weft::test
