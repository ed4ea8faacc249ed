#include "perf/catalogue.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace weft::tools::perf {
namespace {

constexpr Measurement kCatalogue[] = {
    {"rate/ring", Workload::rate, "bare limit: ring of 1024 slots of 64 bytes"},
    {"rate/serial-handler", Workload::rate, "SerialEndpoint to a handler"},
    {"rate/serial-queue", Workload::rate, "SerialEndpoint to a SerialCompletionQueue"},
    {"rate/single-consumer-queue", Workload::rate, "SerialEndpoint to a SingleConsumerQueue"},
    {"rate/queue", Workload::rate, "SerialEndpoint to a CompletionQueue"},
    {"rate/default-handler", Workload::rate, "Endpoint to a handler"},
    {"rate/ucx", Workload::rate, "UCX active messages (ucp_am_bw)"},
    {"latency/line", Workload::latency, "bare limit: one cache line to and fro"},
    {"latency/serial-handler", Workload::latency, "SerialEndpoint to a handler"},
    {"latency/serial-queue", Workload::latency, "SerialEndpoint to a SerialCompletionQueue"},
    {"latency/single-consumer-queue", Workload::latency, "SerialEndpoint to a SingleConsumerQueue"},
    {"latency/queue", Workload::latency, "SerialEndpoint to a CompletionQueue"},
    {"latency/default-handler", Workload::latency, "Endpoint to a handler"},
    {"latency/ucx", Workload::latency, "UCX active messages (ucp_am_lat)"},
    {"solo/threads", Workload::solo, "two threads, each with a device that sends to itself"},
};

bool means(std::string_view name, const Measurement& measurement) {
  return name == measurement.name || name == name_of(measurement.workload) || name == measurement.transport();
}

}  // namespace

std::span<const Measurement> catalogue() { return kCatalogue; }

const Measurement* find_measurement(std::string_view name) {
  const auto found = std::ranges::find(kCatalogue, name, &Measurement::name);
  return found == std::end(kCatalogue) ? nullptr : found;
}

std::string_view name_of(Workload workload) {
  switch (workload) {
    case Workload::rate:
      return "rate";
    case Workload::latency:
      return "latency";
    case Workload::solo:
      return "solo";
  }
  return "unknown";
}

std::vector<const Measurement*> select_measurements(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::any_of(kCatalogue, [&](const Measurement& each) { return means(name, each); })) continue;
    std::string all;
    for (const Measurement& each : kCatalogue) all += fmt::format("{}{}", all.empty() ? "" : ", ", each.name);
    throw Error(
        fmt::format("--only {} is not valid: it must be rate, latency, solo, or one of {}", name, all));
  }
  std::vector<const Measurement*> selected;
  for (const Measurement& measurement : kCatalogue) {
    const bool wanted = names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                          return means(name, measurement);
                        });
    if (wanted) selected.push_back(&measurement);
  }
  return selected;
}

}  // namespace weft::tools::perf
