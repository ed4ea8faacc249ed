#include "perf/workloads/variant_text.hpp"

#include <fmt/core.h>

#include "base/text/parse.hpp"

namespace weft::tools::perf {

std::string bytes_text(std::size_t size) {
  return size < 65536 ? fmt::format("{} bytes", size) : base::size_text(static_cast<std::int64_t>(size));
}

std::string text_of(const Variant& variant, const WorkloadInfo& workload) {
  const Variant own = workload.own();
  std::string text;
  const auto add = [&text](const std::string& part) {
    text.append(text.empty() ? " at " : ", ").append(part);
  };
  if (variant.size != own.size) add(bytes_text(variant.size));
  if (variant.window != own.window) add(fmt::format("window {}", variant.window));
  if (variant.ranks != own.ranks) add(fmt::format("{} ranks", variant.ranks));
  return text;
}

std::size_t buffers_of(const WorkloadInfo& workload, const Variant& variant) {
  return workload.buffers == workload.window ? variant.window : workload.buffers;
}

}  // namespace weft::tools::perf
