// What a chart shows; chart_page.hpp makes a part of a page of it, chart_picture.hpp a picture file.
#pragma once

#include <string>
#include <vector>

namespace weft::tools {

/// What the values of an axis are, in which unit they are given, and so how they are written.
enum class Quantity {
  number,            ///< 12, 1,500, 2.5 million
  seconds,           ///< 53 ns, 22 us, 1.5 ms
  per_second,        ///< 371 M/s
  bytes,             ///< 8, 64K, 1M
  bytes_per_second,  ///< 12.3 GB/s
  percent,           ///< 0.5 %
};

/// `automatic` is logarithmic where values above zero span decades, and linear from zero on otherwise.
enum class Scale { automatic, linear, logarithmic };

struct ChartAxis {
  std::string label;  ///< without the unit: "time of a drain"
  Quantity quantity = Quantity::number;
  Scale scale = Scale::automatic;
};

struct ChartPoint {
  double x;
  double value;
  double low = 0;  ///< whisker, drawn when `high` is above `low`
  double high = 0;
};

/// Series of one family have one colour in every chart of a page, and different dashes and marks.
struct ChartSeries {
  std::string name;
  std::string family{};  ///< the library: "weft", "UCX"; empty: the series is a family by itself
  std::vector<ChartPoint> points{};
};

/// A shaded range of values, such as "the budget of 1 ms".
struct ChartBand {
  std::string name;
  double from;
  double to;
};

struct Chart {
  enum class Form {
    lines,    ///< points over x
    bars,     ///< horizontal bars, of which x is the index in `categories`
    columns,  ///< vertical bars over x, as of a histogram
  };
  std::string title{};
  std::string note{};  ///< a line below the title, often "less is better"
  Form form = Form::lines;
  ChartAxis x{};
  ChartAxis value{};
  std::vector<ChartSeries> series{};
  std::vector<ChartBand> bands{};
  std::vector<std::string> categories{};  ///< of bars
};

}  // namespace weft::tools
