#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/parse.hpp"
#include "common/text_table.hpp"
#include "info/report.hpp"

namespace weft::tools::info {
namespace {

std::string shown_size(std::uint64_t bytes) {
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
  if (bytes == 0) return "unknown";
  if (bytes >= kGibi) return fmt::format("{:.1f}G", static_cast<double>(bytes) / static_cast<double>(kGibi));
  return base::size_text(static_cast<std::int64_t>(bytes));
}

std::string processors_of(const Core& core) {
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
  fmt::format_to(out, "  {:<12}", "cores");
  for (std::size_t i = 0; i < host.cores.size(); ++i) {
    fmt::format_to(out, "{}{}:{}", i == 0 ? "" : " ", i, processors_of(host.cores[i]));
  }
  text += "   (core:processors)\n";
  if (host.numa_nodes < 2) return;
  fmt::format_to(out, "  {:<12}", "NUMA nodes");
  for (std::size_t i = 0; i < host.cores.size(); ++i) {
    if (i == 0 || host.cores[i].numa_node != host.cores[i - 1].numa_node)
      fmt::format_to(out, "{}{}:", i == 0 ? "" : " ", host.cores[i].numa_node);
    else
      text += ",";
    fmt::format_to(out, "{}", i);
  }
  text += "   (node:cores)\n";
}

void append_components(std::string& text, const char* title, const std::vector<Component>& components) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{}\n", title);
  for (const Component& component : components) {
    fmt::format_to(out, "  {:<12}{:<9}{}\n", component.name, component.present ? "present" : "absent",
                   component.remark);
  }
}

void append_attributes(std::string& text, const std::vector<AttributeState>& attributes) {
  std::vector<TextRow> rows = {{"variable", "value", "source", "range", "unit", "meaning"}};
  for (const AttributeState& state : attributes)
    rows.push_back({state.variable, state.value, state.source, state.range, state.unit, state.help});
  text += "\nattributes (set by the program, else by the environment variable, else the default)\n";
  text += text_table(rows, std::vector<TextColumn>(rows.front().size(), {TextColumn::Align::left}));
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
  fmt::format_to(std::back_inserter(text), "  a program that is started here takes {}\n", report.start);
  append_attributes(text, report.attributes);
  return text;
}

}  // namespace weft::tools::info
