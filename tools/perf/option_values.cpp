#include "perf/option_values.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/parse.hpp"
#include "perf/libraries/catalogue.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::int64_t kMostRounds = 1000;
constexpr double kLongest = 60;
constexpr std::int64_t kMostCompute = 1'000'000;
constexpr std::int64_t kLargestWindow = 1024;
constexpr std::int64_t kMostRanks = 16;
constexpr std::string_view kSweep = "sweep";

std::string bound_text(std::int64_t bound) {
  return bound > kLargestWindow ? base::size_text(bound) : std::to_string(bound);
}

/// Parses the values of a list, each once; `sweep`: the values that the word "sweep" stands for.
template <class Value, class Parse>
std::vector<Value> parse_list(const std::vector<std::string>& texts, const char* option, const char* what,
                              const std::vector<Value>& sweep, std::int64_t least, std::int64_t most,
                              const Parse& parse) {
  std::vector<Value> values;
  for (const std::string& text : split(texts)) {
    if (text == kSweep) {
      values.insert(values.end(), sweep.begin(), sweep.end());
      continue;
    }
    const std::optional<std::int64_t> value = parse(text);
    if (!value || *value < least || *value > most) {
      throw Error(
          fmt::format("--{} {} is not valid: it must be {} from {} to {}, several with commas between, or {}",
                      option, text, what, least, bound_text(most), kSweep));
    }
    values.push_back(static_cast<Value>(*value));
  }
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  return values;
}

}  // namespace

int parse_rounds(const std::string& text) {
  const auto rounds = base::parse_integer(text);
  if (!rounds || *rounds < 1 || *rounds > kMostRounds) {
    throw Error(
        fmt::format("--rounds {} is not valid: it must be an integer from 1 to {}", text, kMostRounds));
  }
  return static_cast<int>(*rounds);
}

double parse_duration(const char* option, const std::string& text, double shortest) {
  const auto seconds = base::parse_seconds(text);
  if (!seconds || *seconds < shortest || *seconds > kLongest) {
    throw Error(fmt::format("--{} {} is not valid: it must be {}, or a number of seconds, from {} to {}",
                            option, text, base::kDurationForm, shortest, kLongest));
  }
  return *seconds;
}

double parse_minutes(const std::string& text) {
  constexpr double kMostMinutes = 600;
  constexpr double kMinute = 60;
  const auto seconds = base::parse_seconds(text, kMinute);
  if (!seconds || *seconds > kMostMinutes * kMinute)
    throw Error(fmt::format("--minutes {} is not valid: it must be {}, or a number of minutes, from 0 to {}",
                            text, base::kDurationForm, kMostMinutes));
  return *seconds / kMinute;
}

std::uint64_t parse_seed(const std::string& text) {
  const auto seed = base::parse_integer(text);
  if (!seed || *seed < 0)
    throw Error(fmt::format("--seed {} is not valid: it must be an integer from 0 on", text));
  return static_cast<std::uint64_t>(*seed);
}

std::int64_t parse_compute(const std::string& text) {
  const auto ns = base::parse_whole_duration(text, 1e-9);
  if (!ns || *ns > kMostCompute) {
    throw Error(
        fmt::format("--compute {} is not valid: it must be a duration such as 300ns or 2us, or an "
                    "integer of nanoseconds, from 0 to {}",
                    text, kMostCompute));
  }
  return *ns;
}

bool parse_pin(const std::string& text) {
  if (text != "core" && text != "none")
    throw Error(fmt::format("--pin {} is not valid: it must be core or none", text));
  return text == "core";
}

std::vector<std::string> parse_hosts(const std::vector<std::string>& texts) {
  std::vector<std::string> names = split(texts);
  if (names.size() != 2 || names[0].empty() || names[1].empty())
    throw Error(fmt::format("--hosts \"{}\" must be the names of two hosts, one for each rank: A,B",
                            fmt::join(texts, ",")));
  return names;
}

std::vector<std::size_t> parse_sizes(const std::vector<std::string>& texts) {
  static const std::vector<std::size_t> sweep{8, 64, 512, 4096, 32768, 262144, 1048576};
  return parse_list(texts, "size", "a number of bytes", sweep, 0, kLargestSize, base::parse_size);
}

std::vector<std::size_t> parse_windows(const std::vector<std::string>& texts) {
  static const std::vector<std::size_t> sweep{1, 4, 16, 64, 256, 1024};
  return parse_list(texts, "window", "a number of messages", sweep, 1, kLargestWindow, base::parse_integer);
}

std::vector<int> parse_ranks(const std::vector<std::string>& texts) {
  static const std::vector<int> sweep{2, 4, 8, 16};
  return parse_list(texts, "ranks", "a number", sweep, 2, kMostRanks, base::parse_integer);
}

std::vector<std::string> split(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      names.push_back(list.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return names;
}

}  // namespace weft::tools::perf
