#include <fmt/core.h>

#include <weft/collective/algorithms.hpp>

#include <algorithm>
#include <iterator>

#include "base/text/parse.hpp"
#include "common/wrapped_text.hpp"
#include "info/report.hpp"

namespace weft::tools::info {
namespace {

std::string shown_size(std::uint64_t bytes) {
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
  if (bytes == 0) return "unknown";
  if (bytes >= kGibi) return fmt::format("{:.1f}G", static_cast<double>(bytes) / static_cast<double>(kGibi));
  return base::size_text(static_cast<std::int64_t>(bytes));
}

std::string processors_of(const Topology::Core& core) {
  std::string text;
  for (const int processor : core.processors) text += fmt::format("{}{}", text.empty() ? "" : ",", processor);
  return text;
}

void append_host(std::string& text, const Topology& host) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\nhost (read with {})\n", host.source);
  fmt::format_to(out, "  {:<12}{}\n", "processor", host.processor.empty() ? "unknown" : host.processor);
  fmt::format_to(out, "  {:<12}{} packages, {} NUMA nodes, {} cores for this process\n", "layout",
                 host.packages, host.numa_nodes, host.cores.size());
  fmt::format_to(out, "  {:<12}{} memory, {} L2 per core, {} L3\n", "sizes", shown_size(host.memory_bytes),
                 shown_size(host.l2_bytes), shown_size(host.l3_bytes));
  std::string cores;
  for (std::size_t i = 0; i < host.cores.size(); ++i) {
    fmt::format_to(std::back_inserter(cores), "{}:{} ", i, processors_of(host.cores[i]));
  }
  text += wrapped(fmt::format("  {:<12}", "cores"), cores + "  (core:processors)");
  if (host.numa_nodes < 2) return;
  std::string nodes;
  for (std::size_t i = 0; i < host.cores.size(); ++i) {
    const bool begins_node = i == 0 || host.cores[i].numa_node != host.cores[i - 1].numa_node;
    const std::string node = begins_node ? fmt::format("{}:", host.cores[i].numa_node) : "";
    nodes += (i == 0 ? "" : begins_node ? " " : ",") + node + std::to_string(i);
  }
  text += wrapped(fmt::format("  {:<12}", "NUMA nodes"), nodes + "   (node:cores)");
}

void append_components(std::string& text, const char* title, const std::vector<Component>& components) {
  fmt::format_to(std::back_inserter(text), "\n{}\n", title);
  for (const Component& component : components) {
    text += wrapped(fmt::format("  {:<12}{:<9}", component.name, component.present ? "present" : "absent"),
                    component.remark);
  }
}

std::string conditions_of(const CollectiveAlgorithm& row) {
  std::string text;
  const auto add = [&](bool holds, const std::string& words) {
    if (holds) text += (text.empty() ? "" : ", ") + words;
  };
  add(row.needs_hosts, "several hosts");
  add(row.most_bytes != 0,
      fmt::format("up to {} bytes", base::size_text(static_cast<std::int64_t>(row.most_bytes))));
  add(row.least_members != 0, fmt::format("from {} members", row.least_members));
  add(row.most_members != 0, fmt::format("up to {} members", row.most_members));
  add(row.needs_equal_blocks, "equal blocks");
  add(row.is_commutative, "commutative");
  return text;
}

void append_algorithms(std::string& text) {
  text +=
      "\nalgorithms of collectives (the first that fits is taken, unless WEFT_COLLECTIVES names another)\n";
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    text += fmt::format("  {:<19}{:<14}{:<17}{}", row.collective, row.name, row.rounds, conditions_of(row));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
}

void append_attributes(std::string& text, const std::vector<AttributeState>& attributes) {
  text +=
      "\nattributes (set by the program, else by the environment, else the default; a star: not the "
      "default)\n";
  for (const AttributeState& state : attributes) {
    const bool is_default = state.source == "default";
    // A value that is longer than its column has the line for itself.
    std::string first = fmt::format("  {:<24}{}{:<9}  ", state.variable, is_default ? ' ' : '*', state.value);
    constexpr std::size_t kColumns = 38;
    if (first.size() > kColumns) {
      text += wrapped(first.substr(0, 27), state.value);
      first = std::string(kColumns, ' ');
    }
    text += wrapped(first, state.help);
  }
  text += "\n`weft info NAME` tells range, default and unit of an attribute; `--json` all of everything.\n";
}

}  // namespace

std::string as_table(const Report& report) {
  std::string text = fmt::format("weft {}\n\nbuild\n", report.version);
  for (const BuildOption& option : report.build) {
    fmt::format_to(std::back_inserter(text), "  {:<12}{}\n", option.name, option.value);
  }
  append_host(text, report.host);
  append_components(text, "networks", report.networks);
  append_components(text, "ways to start", report.bootstraps);
  text += wrapped("  a program that is started here takes ", report.start);
  append_algorithms(text);
  append_attributes(text, report.attributes);
  return text;
}

}  // namespace weft::tools::info
