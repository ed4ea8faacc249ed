#include "perf/variants.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>

#include "base/text/parse.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::size_t kMostMemory = std::size_t{256} << 20;  // of the buffers of a rank
constexpr std::size_t kLargestRate = std::size_t{1} << 20;

void check_taken(const std::vector<const Measurement*>& measurements, bool given, const char* option,
                 bool (*takes)(Workload)) {
  if (!given ||
      std::ranges::any_of(measurements, [&](const Measurement* each) { return takes(each->workload); }))
    return;
  throw Error(
      fmt::format("{} concerns none of the selected workloads; `weft perf --list` shows which", option));
}

void check_variant(const WorkloadInfo& workload, const Variant& variant) {
  if (workload.workload == Workload::rate && (variant.size < 1 || variant.size > kLargestRate)) {
    throw Error(fmt::format("--size {} is not valid for rate: it must be a number of bytes from 1 to {}",
                            base::size_text(static_cast<std::int64_t>(variant.size)),
                            base::size_text(kLargestRate)));
  }
  const std::size_t memory = variant.size * buffers_of(workload, variant);
  if (memory > kMostMemory) {
    throw Error(fmt::format(
        "{}{} takes {} of buffers in every rank, more than {}: choose a smaller --size or --window",
        workload.name, text_of(variant, workload), base::size_text(static_cast<std::int64_t>(memory)),
        base::size_text(kMostMemory)));
  }
}

}  // namespace

std::vector<Variant> variants_of(const WorkloadInfo& workload, const Options& options) {
  std::vector<Variant> variants{workload.own()};
  const auto vary = [&](const auto& values, auto Variant::*member) {
    if (values.empty()) return;
    std::vector<Variant> varied;
    for (const Variant& each : variants) {
      for (const auto value : values) {
        Variant variant = each;
        variant.*member = value;
        varied.push_back(variant);
      }
    }
    variants = std::move(varied);
  };
  if (takes_size(workload.workload)) vary(options.sizes, &Variant::size);
  if (takes_window(workload.workload)) vary(options.windows, &Variant::window);
  // Two windows, because a change that helps one may harm the other.
  if (is_polling(workload.workload) && options.windows.empty())
    vary(std::vector<std::size_t>{1, 64}, &Variant::window);
  if (takes_ranks(workload.workload)) vary(options.ranks, &Variant::ranks);
  return variants;
}

void check_variants(const Options& options, const std::vector<const Measurement*>& measurements) {
  check_taken(measurements, !options.sizes.empty(), "--size", takes_size);
  check_taken(measurements, !options.windows.empty(), "--window", takes_window);
  check_taken(measurements, !options.ranks.empty(), "--ranks", takes_ranks);
  for (const Measurement* each : measurements) {
    const WorkloadInfo& workload = info_of(each->workload);
    for (const Variant& variant : variants_of(workload, options)) check_variant(workload, variant);
  }
}

}  // namespace weft::tools::perf
