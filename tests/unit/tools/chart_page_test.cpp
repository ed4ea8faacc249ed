// The parts of a page with charts. What a browser makes of them is looked at by people.
#include "common/chart_page.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

#include "common/chart_assets.hpp"
#include "common/chart_colours.hpp"

namespace weft::tools {
namespace {

Chart drains() {
  return {.title = "Drains <fast>",
          .note = "less is better",
          .x = {"threads"},
          .value = {"time of a drain", Quantity::seconds},
          .series = {{"serial", "weft", {{1, 22e-6, 20e-6, 25e-6}, {2, 30e-6}}},
                     {"</script>", "UCX", {{1, 1.5e-3}}}},
          .bands = {{"the budget", 0, 1e-3}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ChartSection, has_a_table_of_all_figures) {
  const std::string section = chart_section(drains());
  EXPECT_NE(section.find("<h2>Drains &lt;fast&gt;</h2>"), std::string::npos);
  EXPECT_NE(section.find("<th>threads<th>serial<th>&lt;/script&gt;</tr>"), std::string::npos);
  EXPECT_NE(section.find("<tr><td>1<td title=\"20 us .. 25 us\">22 us<td>1.5 ms</tr>"), std::string::npos);
  EXPECT_NE(section.find("<tr><td>2<td>30 us<td>-</tr>"), std::string::npos);
  // Open until a script that draws the chart closes it.
  EXPECT_NE(section.find("<details open>"), std::string::npos);
}

TEST(ChartSection, describes_the_chart_where_the_library_was_found) {
  const std::string section = chart_section(drains());
  if (kChartLibrary.empty()) {
    EXPECT_EQ(section.find("<script"), std::string::npos);
    return;
  }
  EXPECT_EQ(count(section, "</script>"), 1U);
  const std::size_t begin = section.find('{');
  const nlohmann::json chart =
      nlohmann::json::parse(section.substr(begin, section.find("</script>") - begin));
  EXPECT_EQ(chart.at("form"), "lines");
  EXPECT_TRUE(chart.at("value").at("logarithmic"));
  EXPECT_EQ(chart.at("series").size(), 2U);
  EXPECT_EQ(chart.at("series")[1].at("name"), "</script>");
  EXPECT_EQ(chart.at("series")[0].at("points")[0].at("words"), "22 us (20 us .. 25 us)");
  EXPECT_EQ(chart.at("bands")[0].at("to"), 1e-3);
}

TEST(ChartSection, of_single_bars_lists_their_ranges) {
  const Chart chart{.title = "rate",
                    .form = Chart::Form::bars,
                    .x = {"library"},
                    .value = {"messages per second", Quantity::per_second},
                    .series = {{"weft", "weft", {{0, 371e6, 350e6, 380e6}}}, {"UCX", "UCX", {{1, 22e6}}}},
                    .categories = {"serial-handler", "ucp"}};
  const std::string section = chart_section(chart, 3);
  EXPECT_NE(section.find("<h3>rate</h3>"), std::string::npos);
  EXPECT_NE(section.find("<tr><td>serial-handler<td>371 M/s<td>350 M/s .. 380 M/s</tr>"), std::string::npos);
  EXPECT_NE(section.find("<tr><td>ucp<td>22 M/s<td></tr>"), std::string::npos);
}

TEST(ChartSection, bars_on_a_logarithmic_axis_are_dots) {
  Chart chart{.title = "rate",
              .form = Chart::Form::bars,
              .value = {"messages per second", Quantity::per_second},
              .series = {{"weft", "weft", {{0, 371e6}}}, {"UCX", "UCX", {{1, 1e6}}}},
              .categories = {"serial-handler", "ucp"}};
  if (kChartLibrary.empty()) return;
  EXPECT_NE(chart_section(chart).find("\"is_of_dots\":true"), std::string::npos);
  chart.value.scale = Scale::linear;
  EXPECT_NE(chart_section(chart).find("\"is_of_dots\":false"), std::string::npos);
}

TEST(ChartSection, of_nothing_is_nothing) { EXPECT_EQ(chart_section({}), ""); }

TEST(ChartPage, is_one_file_that_loads_nothing) {
  const std::string page =
      chart_page("a < b", "<h1>body</h1>\n" + chart_section(drains()), "weft study 'a < b'");
  EXPECT_NE(page.find("<code>weft study &#39;a &lt; b&#39;</code>"), std::string::npos);
  EXPECT_NE(page.find("; Linux "), std::string::npos);
  EXPECT_NE(page.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(page.find("<h1>body</h1>"), std::string::npos);
  for (const char* loads : {"<link", " src=", "@import", "url("})
    EXPECT_EQ(page.find(loads), std::string::npos);
  EXPECT_EQ(page.find("Copyright (c) 2014-2022 Chart.js Contributors") == std::string::npos,
            kChartLibrary.empty());
  EXPECT_EQ(page.find("MIT License") == std::string::npos, kChartLibrary.empty());
}

TEST(ChartColours, are_one_for_each_family_and_the_same_in_every_chart) {
  const Chart one{.series = {{"a", "weft"}, {"b", "UCX"}, {"c", "weft"}, {"d", "new"}}};
  const std::vector<SeriesStyle> styles = styles_of(one);
  EXPECT_EQ(styles[0].colour, styles[2].colour);
  EXPECT_NE(styles[0].colour, styles[1].colour);
  EXPECT_NE(styles[0].colour, styles[3].colour);
  EXPECT_NE(styles[1].colour, styles[3].colour);
  EXPECT_EQ(styles[0].index_in_family, 0U);
  EXPECT_EQ(styles[2].index_in_family, 1U);
  EXPECT_EQ(styles_of({.series = {{"x", "UCX"}}})[0].colour, styles[1].colour);
}

}  // namespace
}  // namespace weft::tools
