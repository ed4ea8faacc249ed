#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::tools::perf {

// Values of the options of `weft perf`. Each function throws weft::Error that names the option, the value and
// what would be right.

int parse_rounds(const std::string& text);
double parse_duration(const char* option, const std::string& text, double shortest);
double parse_minutes(const std::string& text);
std::uint64_t parse_seed(const std::string& text);
/// The nanoseconds of --compute.
std::int64_t parse_compute(const std::string& text);
/// --pin: returns true when threads are bound.
bool parse_pin(const std::string& text);

/// --hosts: the names of two hosts.
std::vector<std::string> parse_hosts(const std::vector<std::string>& texts);

// Parse lists with commas, or "sweep" for the values of a plot.
std::vector<std::size_t> parse_sizes(const std::vector<std::string>& texts);
std::vector<std::size_t> parse_windows(const std::vector<std::string>& texts);
std::vector<int> parse_ranks(const std::vector<std::string>& texts);

/// Splits lists with commas into their parts.
std::vector<std::string> split(const std::vector<std::string>& lists);

}  // namespace weft::tools::perf
