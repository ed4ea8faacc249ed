// Which tasks of the step before a task of Task Bench depends on: "Task Bench: A Parameterized Benchmark for
// Evaluating Parallel Runtime Performance" (Slaughter et al., SC 2020), table 2.
#pragma once

#include <string_view>
#include <vector>

namespace weft::tools::study {

enum class Pattern { trivial, stencil_1d, fft, tree, nearest, spread, random_nearest, all_to_all };

/// Throws weft::Error for a name that is none.
[[nodiscard]] Pattern pattern_of(std::string_view name);

/// Points of step `step` - 1 that point `point` of `step` needs, ascending; step 0 needs none. `radix` is
/// the number of dependences of nearest, spread and random_nearest.
[[nodiscard]] std::vector<int> dependences_of(Pattern pattern, int step, int point, int width, int radix);

}  // namespace weft::tools::study
