// Timeouts that tests give to operations.
#pragma once

#include <chrono>

namespace weft::test {

constexpr auto kSoon = std::chrono::milliseconds(1);
constexpr auto kPassed = std::chrono::nanoseconds(-1);
constexpr auto kFar = std::chrono::hours(10);  // hang guards end a test long before

}  // namespace weft::test
