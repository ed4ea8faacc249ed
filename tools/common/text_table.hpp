#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::tools {

using TextRow = std::vector<std::string>;

struct TextColumn {
  enum class Align { left, right };
  Align align;
  std::size_t least_width = 0;
};

/// Lines of cells below each other, indented by two blanks, each column as wide as its widest cell, `gap`
/// blanks between columns. Every row has as many cells as there are columns.
std::string text_table(const std::vector<TextRow>& rows, std::span<const TextColumn> columns,
                       std::size_t gap = 2);

}  // namespace weft::tools
