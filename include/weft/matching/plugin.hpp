// Matching algorithms in libraries of their own, for `weft study matching --algorithm LIB.so`.
//
//     struct MyMatching : weft::MatchingAlgorithm { ... };
//     WEFT_MATCHING_ALGORITHM(MyMatching)
//
//     c++ -std=c++20 -O2 -shared -fPIC my_matching.cpp -o my-matching.so
//     weft study matching --algorithm ./my-matching.so --engines list,ordered
//
// examples/algorithms/sorted_matching.cpp is one.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/matching/algorithm.hpp>

namespace weft {

/// The function that a library has, by its version: another version of this interface has another name.
inline constexpr const char* kMatchingAlgorithmFunction = "weft_matching_algorithm_1";

}  // namespace weft

/// Makes algorithms of that type, which has a constructor without parameters, known to whoever loads the
/// library. Outside namespaces, once in a library.
#define WEFT_MATCHING_ALGORITHM(Type)                                                               \
  extern "C" WEFT_API ::weft::MatchingAlgorithm* weft_matching_algorithm_1() { return new Type(); } \
  static_assert(true, "weft: a semicolon may follow")
