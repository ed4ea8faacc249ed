// Nodes of UTS trees: "UTS: An Unbalanced Tree Search Benchmark" (Olivier et al., LCPC 2006). A node is 20
// bytes, the SHA-1 hash of its parent's bytes and its number among the siblings; the number of its children
// follows from the last four bytes. The figures of the sample trees hold for exactly this.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::tools::study {

struct TreeShape {
  std::string_view name;
  bool is_binomial;
  int seed;
  double branching;  ///< expected children of a node; of the root in a binomial tree
  int depth;         ///< below which geometric trees have no nodes
  int children;      ///< of a binomial node that has any
  double probability;
  std::uint64_t nodes;  ///< known
  std::uint64_t leaves;
  int deepest;
};

/// The sample trees T1, T3, T1L and T3L, and a small one, whose figures are this program's own.
inline constexpr std::array kTrees{
    TreeShape{"T1", false, 19, 4.0, 10, 0, 0, 4'130'071, 3'305'118, 10},
    TreeShape{"T3", true, 42, 2000, 0, 8, 0.124875, 4'112'897, 3'599'034, 1572},
    TreeShape{"T1L", false, 29, 4.0, 13, 0, 0, 102'181'082, 81'746'377, 13},
    TreeShape{"T3L", true, 7, 2000, 0, 5, 0.200014, 111'345'631, 89'076'904, 17'844},
    TreeShape{"small", false, 19, 4.0, 6, 0, 0, 16'000, 12'839, 6},
};

struct TreeNode {
  std::array<std::uint8_t, 20> bytes;
  std::int32_t depth;
};

/// Throws weft::Error for a name that is none.
[[nodiscard]] const TreeShape& shape_of(std::string_view name);
[[nodiscard]] TreeNode root_of(const TreeShape& shape) noexcept;
[[nodiscard]] int children_of(const TreeShape& shape, const TreeNode& node) noexcept;
[[nodiscard]] TreeNode child_of(const TreeNode& node, std::uint32_t number) noexcept;

}  // namespace weft::tools::study
