#include "study/ranks/tree_node.hpp"

#include <weft/error.hpp>

#include <nettle/sha1.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace weft::tools::study {

namespace {

constexpr int kMostChildren = 100;

std::array<std::uint8_t, 4> big_endian(std::uint32_t value) noexcept {
  return {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
          static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

/// Uniform in [0, 1), of the last 31 bits.
double fraction_of(const TreeNode& node) noexcept {
  std::uint32_t value = 0;
  for (std::size_t index = 16; index < 20; ++index) value = value << 8 | node.bytes[index];
  return (value & 0x7fffffff) / 2147483648.0;
}

}  // namespace

const TreeShape& shape_of(std::string_view name) {
  std::string known;
  for (const TreeShape& shape : kTrees) {
    if (shape.name == name) return shape;
    known += (known.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error("there is no tree '" + std::string(name) + "'; there are " + known);
}

TreeNode root_of(const TreeShape& shape) noexcept {
  std::array<std::uint8_t, 20> seed{};
  const auto number = big_endian(static_cast<std::uint32_t>(shape.seed));
  std::copy(number.begin(), number.end(), seed.begin() + 16);
  TreeNode root{{}, 0};
  sha1_ctx context;
  sha1_init(&context);
  sha1_update(&context, seed.size(), seed.data());
  sha1_digest(&context, root.bytes.size(), root.bytes.data());
  return root;
}

TreeNode child_of(const TreeNode& node, std::uint32_t number) noexcept {
  TreeNode child{{}, node.depth + 1};
  const auto bytes = big_endian(number);
  sha1_ctx context;
  sha1_init(&context);
  sha1_update(&context, node.bytes.size(), node.bytes.data());
  sha1_update(&context, bytes.size(), bytes.data());
  sha1_digest(&context, child.bytes.size(), child.bytes.data());
  return child;
}

int children_of(const TreeShape& shape, const TreeNode& node) noexcept {
  if (shape.is_binomial) {
    if (node.depth == 0) return static_cast<int>(shape.branching);
    return fraction_of(node) < shape.probability ? shape.children : 0;
  }
  if (node.depth >= shape.depth) return 0;
  // Geometric, with the expected value `branching`.
  const double probability = 1 / (1 + shape.branching);
  return std::min(kMostChildren,
                  static_cast<int>(std::floor(std::log(1 - fraction_of(node)) / std::log(1 - probability))));
}

}  // namespace weft::tools::study
