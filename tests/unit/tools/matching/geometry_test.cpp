#include "study/matching/model/geometry.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::tools::study {
namespace {

HaloCounts counts_of(const char* text) { return enumerate_halo(parse_decomposition(text)).counts; }

TEST(HaloGeometry, has_the_exact_counts_of_known_decompositions) {
  EXPECT_EQ(counts_of("naive:64"), (HaloCounts{64, 64, 64}));
  EXPECT_EQ(counts_of("5pt:32x32"), (HaloCounts{124, 128, 128}));
  EXPECT_EQ(counts_of("9pt:32x32"), (HaloCounts{124, 132, 380}));
  EXPECT_EQ(counts_of("7pt:8x8x4"), (HaloCounts{184, 256, 256}));
  EXPECT_EQ(counts_of("27pt:8x8x4"), (HaloCounts{184, 344, 2072}));
  EXPECT_EQ(counts_of("7pt:4x4x4"), (HaloCounts{56, 96, 96}));
  EXPECT_EQ(counts_of("27pt:4x4x4"), (HaloCounts{56, 152, 728}));
}

TEST(HaloGeometry, counts_every_cell_of_a_line_as_a_receiver) {
  EXPECT_EQ(counts_of("7pt:1x1x128"), (HaloCounts{128, 514, 514}));
  EXPECT_EQ(counts_of("7pt:1x1x256"), (HaloCounts{256, 1026, 1026}));
  EXPECT_EQ(counts_of("27pt:1x1x32").senders, 274U);
  EXPECT_EQ(counts_of("27pt:1x1x256").messages, 6146U);
  EXPECT_EQ(counts_of("9pt:1x1"), (HaloCounts{1, 8, 8}));
  EXPECT_EQ(counts_of("27pt:1x1x1"), (HaloCounts{1, 26, 26}));
}

/// The formulas of the paper, as they are printed, and those of 5 and 7 points derived the same way.
HaloCounts by_the_paper(const Decomposition& decomposition) {
  const auto [x, y, z] = decomposition.lengths;
  const std::uint64_t products = std::uint64_t{x} * y + std::uint64_t{y} * z + std::uint64_t{x} * z;
  const std::uint64_t sum = x + y + z;
  switch (decomposition.stencil) {
    case HaloStencil::naive:
      return {x, x, x};
    case HaloStencil::five_points:
      return {2 * x + 2 * y - 4, 2 * x + 2 * y, 2 * x + 2 * y};
    case HaloStencil::nine_points:
      return {2 * x + 2 * y - 4, 2 * x + 2 * y + 4, 6 * x + 6 * y - 4};
    case HaloStencil::seven_points:
      return {2 * products - 4 * sum + 8, 2 * products, 2 * products};
    case HaloStencil::twenty_seven_points:
      break;
  }
  return {2 * products - 4 * sum + 8, 2 * products + 4 * sum + 8, 18 * products - 12 * sum + 8};
}

TEST(HaloGeometry, agrees_with_the_formulas_for_every_small_shape) {
  for (std::uint32_t x = 1; x <= 7; ++x)
    for (std::uint32_t y = 1; y <= 7; ++y)
      for (std::uint32_t z = 1; z <= 7; ++z)
        for (const HaloStencil stencil :
             {HaloStencil::naive, HaloStencil::five_points, HaloStencil::nine_points,
              HaloStencil::seven_points, HaloStencil::twenty_seven_points}) {
          Decomposition decomposition{.stencil = stencil, .lengths = {x, y, z}};
          const bool is_naive = stencil == HaloStencil::naive;
          const bool is_flat = stencil == HaloStencil::five_points || stencil == HaloStencil::nine_points;
          if (is_naive) decomposition.lengths[1] = 1;
          if (is_naive || is_flat) decomposition.lengths[2] = 1;
          const HaloCounts counts = enumerate_halo(decomposition).counts;
          const HaloCounts formulas = by_the_paper(decomposition);
          const std::string name = name_of(decomposition);
          EXPECT_EQ(counts, count_halo(decomposition)) << name;
          EXPECT_EQ(counts.senders, formulas.senders) << name;
          EXPECT_EQ(counts.messages, formulas.messages) << name;
          // The paper's formula for receivers counts what lies between two ends, and needs two.
          if (x > 1 && y > 1 && (z > 1 || is_flat)) {
            EXPECT_EQ(counts.receivers, formulas.receivers) << name;
          }
        }
}

TEST(HaloGeometry, agrees_with_the_formulas_for_long_shapes) {
  for (const char* text :
       {"5pt:65536x3", "9pt:1000x2000", "7pt:100x90x80", "27pt:1x1x40000", "27pt:64x2x500", "naive:65536"}) {
    const Decomposition decomposition = parse_decomposition(text);
    EXPECT_EQ(enumerate_halo(decomposition).counts, count_halo(decomposition)) << text;
  }
}

TEST(HaloGeometry, names_each_pair_of_neighbours_once_and_numbers_messages_of_each_thread) {
  for (const char* text : {"naive:5", "5pt:4x3", "9pt:1x6", "7pt:3x4x5", "27pt:4x4x4", "27pt:1x1x9"}) {
    const HaloExchange exchange = enumerate_halo(parse_decomposition(text));
    std::vector<std::uint32_t> sent(exchange.counts.senders);
    std::vector<std::uint32_t> received(exchange.counts.receivers);
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const HaloMessage& message : exchange.messages) {
      ASSERT_LT(message.sender, sent.size()) << text;
      ASSERT_LT(message.receiver, received.size()) << text;
      ++sent[message.sender];
      EXPECT_EQ(message.index_at_receiver, received[message.receiver]++) << text;
      EXPECT_TRUE(pairs.emplace(message.sender, message.receiver).second) << text;
    }
    EXPECT_EQ(std::ranges::count(sent, 0U), 0) << text;
    // A sender begins with the neighbour that is last.
    for (const HaloMessage& message : exchange.messages)
      EXPECT_EQ(message.index_at_sender, --sent[message.sender]) << text;
    EXPECT_EQ(std::ranges::count(received, 0U), 0) << text;
  }
}

TEST(HaloGeometry, goes_through_directions_alike_at_both_ends) {
  // In a line of cells with corners, what receivers post first, and senders send first, travels upwards.
  const HaloExchange exchange = enumerate_halo(parse_decomposition("27pt:1x1x9"));
  for (const HaloMessage& message : exchange.messages) {
    const std::uint32_t z = message.receiver;
    if (z == 0 || z == 8 || message.index_at_receiver % 8 != 0) continue;
    const std::uint32_t direction = message.index_at_receiver / 8;
    const std::uint32_t sender_z = z + direction - 1;
    const bool is_at_end = sender_z == 0 || sender_z == 8;
    if (is_at_end) continue;
    EXPECT_EQ(message.index_at_sender, direction) << z;
  }
}

TEST(DecompositionText, is_read_and_written_alike) {
  for (const char* text : {"naive:64", "naive:256:26", "5pt:32x32", "9pt:1x7", "7pt:8x8x4", "27pt:1x1x256"})
    EXPECT_EQ(name_of(parse_decomposition(text)), text);
  EXPECT_EQ(parse_decomposition("27pt:1x2x3"),
            (Decomposition{.stencil = HaloStencil::twenty_seven_points, .lengths = {1, 2, 3}}));
}

std::string refusal_of(const char* text) {
  try {
    (void)parse_decomposition(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DecompositionText, is_refused_with_one_line_that_says_what_is_right) {
  EXPECT_EQ(refusal_of("6pt:3x3"),
            "decomposition '6pt:3x3': no such stencil; it is naive, 5pt, 9pt, 7pt or 27pt, as in 9pt:32x32");
  EXPECT_EQ(refusal_of("9pt:0x3"),
            "decomposition '9pt:0x3': 9pt takes lengths from 1 to 65536 as in 9pt:XxY");
  for (const char* text :
       {"9pt", "9pt:", "9pt:3", "9pt:3x", "9pt:3x3x", "9pt:3x3x3", "9pt:-3x3", "9pt:3 x3", "7pt:3x3",
        "naive:2x2", "naive:0", "naive:65537", "naive:2:", "naive:2:0", "naive:2:3:4", "naive:2:3x",
        "9pt:3x3:2", "27pt:99999999999999999999x1x1", "7pt:1x1x4.5"})
    EXPECT_NE(refusal_of(text).find(" takes lengths from 1 to 65536 as in "), std::string::npos) << text;
  for (const char* text : {"", ":", "x", "32x32", "9:3x3", "naive 4"})
    EXPECT_NE(refusal_of(text).find("no such stencil"), std::string::npos) << text;
  EXPECT_EQ(refusal_of("27pt:65536x65536x65536"),
            "decomposition 27pt:65536x65536x65536: 231925874696 messages are more than 1048576");
}

TEST(HaloGeometry, gives_threads_without_neighbours_so_many_messages_in_their_order) {
  EXPECT_EQ(count_halo(parse_decomposition("naive:64:512")), (HaloCounts{64, 64, 32'768}));
  EXPECT_EQ(count_halo(parse_decomposition("naive:256:26")), (HaloCounts{256, 256, 6'656}));
  const HaloExchange exchange = enumerate_halo(parse_decomposition("naive:3:4"));
  ASSERT_EQ(exchange.messages.size(), 12U);
  for (std::uint32_t number = 0; number < 12; ++number) {
    const HaloMessage& message = exchange.messages[number];
    EXPECT_EQ(message.sender, number / 4);
    EXPECT_EQ(message.receiver, number / 4);
    EXPECT_EQ(message.index_at_sender, number % 4);
    EXPECT_EQ(message.index_at_receiver, number % 4);
  }
  EXPECT_EQ(refusal_of("naive:1024:2048"),
            "decomposition naive:1024:2048: 2097152 messages are more than 1048576");
}

TEST(Sweeps, have_all_powers_of_two_of_threads) {
  for (const char* family : {"naive", "naive:26", "5pt", "9pt", "7pt", "27pt", "7pt-line", "27pt-line"}) {
    const std::vector<Decomposition> all = sweep_of(family, 256);
    ASSERT_EQ(all.size(), 8U) << family;
    for (std::size_t index = 0; index < all.size(); ++index) {
      EXPECT_EQ(threads_of(all[index]), std::uint64_t{2} << index) << family;
      EXPECT_EQ(parse_decomposition(name_of(all[index])), all[index]);
    }
  }
  EXPECT_EQ(name_of(sweep_of("27pt", 256).back()), "27pt:8x8x4");
  EXPECT_EQ(name_of(sweep_of("27pt-line", 300).back()), "27pt:1x1x256");
  EXPECT_EQ(name_of(sweep_of("5pt", 32).back()), "5pt:8x4");
  EXPECT_EQ(name_of(sweep_of("naive:26", 256).back()), "naive:256:26");
  for (const char* family : {"", "6pt", "5pt-line", "5pt:3", "naive:0", "27pt-lines", "27pt-line:3"})
    EXPECT_THROW((void)sweep_of(family, 16), Error) << family;
}

TEST(HaloGeometry, refuses_lengths_that_were_not_read_from_text) {
  EXPECT_THROW((void)enumerate_halo({.stencil = HaloStencil::nine_points, .lengths = {3, 0, 1}}), Error);
  EXPECT_THROW((void)enumerate_halo({.stencil = HaloStencil::nine_points, .lengths = {3, 3, 2}}), Error);
  EXPECT_THROW((void)enumerate_halo({.stencil = HaloStencil::seven_points, .lengths = {3, 3, 65537}}), Error);
}

TEST(PaperRows, have_the_sixteen_figures_that_the_paper_prints) {
  std::size_t figures = 0;
  for (const PaperRow& row : paper_rows()) {
    figures += row.depth.has_value() + row.drain_microseconds.has_value();
    if (!row.depth) continue;
    // At most as deep as in random order, but for what its runs differ by.
    const auto messages = static_cast<double>(count_halo(parse_decomposition(row.decomposition)).messages);
    EXPECT_LT(*row.depth, 1.1 * (messages + 3) / 4) << row.decomposition;
  }
  EXPECT_EQ(figures, 16U);
  EXPECT_EQ(paper_row_of("27pt:1x1x256")->drain_microseconds, 163'050);
  EXPECT_EQ(paper_row_of("naive:256:26")->drain_microseconds, 147'000);
  EXPECT_TRUE(paper_row_of("naive:64:512")->is_more);
  EXPECT_EQ(paper_row_of("naive:64"), nullptr);
}

TEST(PaperRows, are_decompositions_and_differ_from_print_where_the_paper_errs) {
  ASSERT_FALSE(paper_rows().empty());
  for (const PaperRow& row : paper_rows()) {
    const HaloCounts counts = count_halo(parse_decomposition(row.decomposition));
    EXPECT_GT(counts.messages, 0U);
    if (!row.messages) continue;
    EXPECT_EQ(row.decomposition, "7pt:1x1x256");
    EXPECT_NE(*row.messages, counts.messages);
  }
}

}  // namespace
}  // namespace weft::tools::study
