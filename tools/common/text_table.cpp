#include "common/text_table.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace weft::tools {

std::string text_table(const std::vector<TextRow>& rows, std::span<const TextColumn> columns,
                       std::size_t gap) {
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns) widths.push_back(column.least_width);
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += columns[i].align == TextColumn::Align::left ? fmt::format("{:<{}}", row[i], widths[i])
                                                          : fmt::format("{:>{}}", row[i], widths[i]);
      line.append(gap, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace weft::tools
