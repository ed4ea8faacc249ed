#include "study/matching/model/geometry.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace weft::tools::study {

namespace {

struct StencilInfo {
  HaloStencil stencil;
  std::string_view name;
  std::size_t dimensions;
  bool has_corners;
};

constexpr std::array kStencils{StencilInfo{HaloStencil::naive, "naive", 1, false},
                               StencilInfo{HaloStencil::five_points, "5pt", 2, false},
                               StencilInfo{HaloStencil::nine_points, "9pt", 2, true},
                               StencilInfo{HaloStencil::seven_points, "7pt", 3, false},
                               StencilInfo{HaloStencil::twenty_seven_points, "27pt", 3, true}};

const StencilInfo& info_of(HaloStencil stencil) noexcept {
  return kStencils[static_cast<std::size_t>(stencil)];
}

void check(const Decomposition& decomposition) {
  const std::size_t dimensions = info_of(decomposition.stencil).dimensions;
  for (std::size_t dimension = 0; dimension < decomposition.lengths.size(); ++dimension) {
    const std::uint32_t length = decomposition.lengths[dimension];
    const std::uint32_t most = dimension < dimensions ? kMostLength : 1;
    if (length == 0 || length > most)
      throw Error(fmt::format("decomposition {}: length {} of dimension {} is not within 1 to {}",
                              name_of(decomposition), length, dimension + 1, most));
  }
  const std::uint64_t messages = count_halo(decomposition).messages;
  if (messages > kMostMessages)
    throw Error(fmt::format("decomposition {}: {} messages are more than {}", name_of(decomposition),
                            messages, kMostMessages));
}

using Cell = std::array<std::int64_t, 3>;

bool is_inside(const Cell& cell, const Decomposition& decomposition) noexcept {
  for (std::size_t dimension = 0; dimension < cell.size(); ++dimension)
    if (cell[dimension] < 0 || cell[dimension] >= decomposition.lengths[dimension]) return false;
  return true;
}

/// Offsets of the neighbours of a cell, in the order of cells.
std::vector<Cell> offsets_of(HaloStencil stencil) {
  const StencilInfo& info = info_of(stencil);
  const std::int64_t depth = info.dimensions == 3 ? 1 : 0;
  std::vector<Cell> offsets;
  for (std::int64_t z = -depth; z <= depth; ++z)
    for (std::int64_t y = -1; y <= 1; ++y)
      for (std::int64_t x = -1; x <= 1; ++x) {
        const std::int64_t steps = std::abs(x) + std::abs(y) + std::abs(z);
        if (steps == 1 || (steps > 1 && info.has_corners)) offsets.push_back({x, y, z});
      }
  return offsets;
}

/// Calls visit(cell) for every cell of the block that may have neighbours outside, in the order of cells.
template <class Visit>
void for_each_at_surface(const Decomposition& decomposition, const Visit& visit) {
  const auto [width, height, depth] = decomposition.lengths;
  const bool is_flat = info_of(decomposition.stencil).dimensions == 2;
  for (std::int64_t z = 0; z < depth; ++z)
    for (std::int64_t y = 0; y < height; ++y) {
      const bool is_edge = y == 0 || y == height - 1 || (!is_flat && (z == 0 || z == depth - 1));
      const std::int64_t step = is_edge || width == 1 ? 1 : width - 1;
      for (std::int64_t x = 0; x < width; x += step) visit(Cell{x, y, z});
    }
}

/// The index of a cell, which may be one beside the block, in the order of cells.
std::uint64_t rank_of(const Cell& cell, const Decomposition& decomposition) noexcept {
  std::uint64_t rank = 0;
  for (std::size_t dimension = cell.size(); dimension-- > 0;)
    rank = rank * (decomposition.lengths[dimension] + 2) + static_cast<std::uint64_t>(cell[dimension] + 1);
  return rank;
}

HaloExchange enumerate_naive(const Decomposition& decomposition) {
  HaloExchange exchange{.counts = count_halo(decomposition), .messages = {}};
  for (std::uint32_t thread = 0; thread < decomposition.lengths[0]; ++thread)
    for (std::uint32_t index = 0; index < decomposition.messages_of_thread; ++index)
      exchange.messages.push_back(
          {.sender = thread, .receiver = thread, .index_at_sender = index, .index_at_receiver = index});
  return exchange;
}

}  // namespace

Decomposition parse_decomposition(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto* const info = std::ranges::find(kStencils, text.substr(0, colon), &StencilInfo::name);
  if (info == kStencils.end())
    throw Error(
        fmt::format("decomposition '{}': no such stencil; it is naive, 5pt, 9pt, 7pt or 27pt, as in "
                    "9pt:32x32",
                    text));
  const auto refuse = [&] {
    constexpr std::array<std::string_view, 3> kShapes{"T or T:M", "XxY", "XxYxZ"};
    throw Error(fmt::format("decomposition '{}': {} takes lengths from 1 to {} as in {}:{}", text, info->name,
                            kMostLength, info->name, kShapes[info->dimensions - 1]));
  };
  if (colon == std::string_view::npos) refuse();
  Decomposition decomposition{.stencil = info->stencil};
  const char* position = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  for (std::size_t dimension = 0; dimension < info->dimensions; ++dimension) {
    if (dimension > 0 && (position == end || *position++ != 'x')) refuse();
    std::uint32_t& length = decomposition.lengths[dimension];
    const auto [rest, error] = std::from_chars(position, end, length);
    if (error != std::errc{} || length == 0 || length > kMostLength) refuse();
    position = rest;
  }
  if (info->stencil == HaloStencil::naive && position != end) {
    if (*position++ != ':') refuse();
    std::uint32_t& messages = decomposition.messages_of_thread;
    const auto [rest, error] = std::from_chars(position, end, messages);
    if (error != std::errc{} || messages == 0 || messages > kMostLength) refuse();
    position = rest;
  }
  if (position != end) refuse();
  check(decomposition);
  return decomposition;
}

std::string name_of(const Decomposition& decomposition) {
  const StencilInfo& info = info_of(decomposition.stencil);
  std::string name(info.name);
  for (std::size_t dimension = 0; dimension < info.dimensions; ++dimension)
    name += fmt::format("{}{}", dimension == 0 ? ':' : 'x', decomposition.lengths[dimension]);
  if (decomposition.messages_of_thread != 1) name += fmt::format(":{}", decomposition.messages_of_thread);
  return name;
}

HaloCounts count_halo(const Decomposition& decomposition) noexcept {
  const StencilInfo& info = info_of(decomposition.stencil);
  const auto lengths = std::span(decomposition.lengths).first(info.dimensions);
  if (decomposition.stencil == HaloStencil::naive)
    return {lengths[0], lengths[0], std::uint64_t{lengths[0]} * decomposition.messages_of_thread};
  std::uint64_t cells = 1;
  std::uint64_t inner_cells = 1;       // whose neighbours are all inside
  std::uint64_t surrounded_cells = 1;  // with those beside the block, corners included
  std::uint64_t inside_pairs = 1;      // of cells of the block that are the same, or neighbours with corners
  std::uint64_t all_pairs = 1;         // of a cell of the block, and itself or a neighbour anywhere
  for (const std::uint64_t length : lengths) {
    cells *= length;
    inner_cells *= length < 2 ? 0 : length - 2;
    surrounded_cells *= length + 2;
    inside_pairs *= 3 * length - 2;
    all_pairs *= 3 * length;
  }
  if (info.has_corners) return {cells - inner_cells, surrounded_cells - cells, all_pairs - inside_pairs};
  std::uint64_t faces = 0;
  for (const std::uint64_t length : lengths) faces += 2 * (cells / length);
  return {cells - inner_cells, faces, faces};
}

HaloExchange enumerate_halo(const Decomposition& decomposition) {
  check(decomposition);
  if (decomposition.stencil == HaloStencil::naive) return enumerate_naive(decomposition);
  const std::vector<Cell> offsets = offsets_of(decomposition.stencil);
  HaloExchange exchange;
  std::vector<std::uint64_t> sender_ranks;  // of each message
  for_each_at_surface(decomposition, [&](const Cell& cell) {
    const std::size_t before = exchange.messages.size();
    for (const Cell& offset : offsets) {
      const Cell sender{cell[0] + offset[0], cell[1] + offset[1], cell[2] + offset[2]};
      if (is_inside(sender, decomposition)) continue;
      sender_ranks.push_back(rank_of(sender, decomposition));
      exchange.messages.push_back(
          {.receiver = static_cast<std::uint32_t>(exchange.counts.receivers),
           .index_at_receiver = static_cast<std::uint32_t>(exchange.messages.size() - before)});
    }
    if (exchange.messages.size() > before) ++exchange.counts.receivers;
  });
  std::vector<std::uint64_t> senders = sender_ranks;
  std::ranges::sort(senders);
  senders.erase(std::unique(senders.begin(), senders.end()), senders.end());
  std::vector<std::uint32_t> sent(senders.size());
  for (std::size_t message = exchange.messages.size(); message-- > 0;) {
    const auto sender = std::ranges::lower_bound(senders, sender_ranks[message]) - senders.begin();
    exchange.messages[message].sender = static_cast<std::uint32_t>(sender);
    exchange.messages[message].index_at_sender = sent[static_cast<std::size_t>(sender)]++;
  }
  exchange.counts.senders = senders.size();
  exchange.counts.messages = exchange.messages.size();
  return exchange;
}

std::span<const PaperRow> paper_rows() noexcept {
  static constexpr std::array kRows{
      PaperRow{"5pt:32x32", 35.512, 91.78},    PaperRow{"9pt:32x32", 85.18, 486.54},
      PaperRow{"7pt:4x4x4", 25.1, 41.02},      PaperRow{"7pt:8x8x4", 65.85, 479.15},
      PaperRow{"7pt:1x1x128", {}, {}},         PaperRow{"7pt:1x1x256", 114.81, 3290, 576},
      PaperRow{"27pt:4x4x4", 135.86, 1044.17}, PaperRow{"27pt:8x8x4", 410.02, 14'860},
      PaperRow{"27pt:1x1x32", {}, {}},         PaperRow{"27pt:1x1x256", 967.27, 163'050}};
  return kRows;
}

std::span<const PaperRow> paper_naive_rows() noexcept {
  static constexpr std::array kRows{PaperRow{"naive:64:512", 3000, {}, {}, true},
                                    PaperRow{"naive:256:26", 1000, 147'000, {}, true}};
  return kRows;
}

const PaperRow* paper_row_of(std::string_view decomposition) noexcept {
  for (const std::span<const PaperRow> rows : {paper_rows(), paper_naive_rows()})
    for (const PaperRow& row : rows)
      if (row.decomposition == decomposition) return &row;
  return nullptr;
}

std::uint64_t threads_of(const Decomposition& decomposition) noexcept {
  const auto [width, height, depth] = decomposition.lengths;
  return std::uint64_t{width} * height * depth;
}

std::vector<Decomposition> sweep_of(std::string_view family, std::uint32_t most) {
  constexpr std::string_view kLine = "-line";
  const bool is_line = family == "7pt-line" || family == "27pt-line";
  const std::string_view stencil = family.substr(0, family.find(is_line ? '-' : ':'));
  const auto* const info = std::ranges::find(kStencils, stencil, &StencilInfo::name);
  const bool is_naive = info != kStencils.end() && info->stencil == HaloStencil::naive;
  if (info == kStencils.end() || (!is_naive && family != stencil && !is_line))
    throw Error(
        fmt::format("--sweep {} is not valid: it is naive, naive:M, 5pt, 9pt, 7pt, 27pt, 7pt{} or 27pt{}",
                    family, kLine, kLine));
  std::vector<Decomposition> all;
  for (std::uint32_t threads = 2; threads <= most; threads *= 2) {
    std::array<std::uint32_t, 3> lengths{1, 1, 1};
    if (is_line)
      lengths[2] = threads;
    else
      for (std::uint32_t rest = threads, dimension = 0; rest > 1; rest /= 2, ++dimension)
        lengths[dimension % info->dimensions] *= 2;
    std::string text = fmt::format("{}:{}", stencil, lengths[0]);
    for (std::size_t dimension = 1; dimension < info->dimensions; ++dimension)
      text += fmt::format("x{}", lengths[dimension]);
    if (is_naive) text += family.substr(stencil.size());
    all.push_back(parse_decomposition(text));
  }
  return all;
}

}  // namespace weft::tools::study
