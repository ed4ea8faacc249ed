// Progress threads for the devices of a parcelport.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/weft.hpp>

#include <memory>
#include <vector>

namespace weft::parcel {

/// One for each device, unless workers progress alone. With Progress::pinned they have the last processors
/// that this process may use. Throws weft::Error when there are fewer processors than devices.
inline std::vector<std::unique_ptr<weft::ProgressThread>> make_progress_threads(
    const std::vector<std::unique_ptr<weft::Device>>& devices, Progress progress) {
  std::vector<std::unique_ptr<weft::ProgressThread>> threads;
  if (progress == Progress::workers) return threads;
  std::vector<int> processors;
  if (progress == Progress::pinned) {
    for (const weft::Topology::Core& core : weft::read_topology().cores)
      processors.insert(processors.end(), core.processors.begin(), core.processors.end());
    if (processors.size() < devices.size())
      throw Error("parcel option progress=pinned: there are " + std::to_string(devices.size()) +
                  " devices, and this process may use " + std::to_string(processors.size()) + " processors");
  }
  for (const auto& device : devices) {
    weft::ProgressThreadOptions options;
    if (progress == Progress::pinned) {
      options.processors = {processors.back()};
      processors.pop_back();
    }
    threads.push_back(std::make_unique<weft::ProgressThread>(*device, options));
  }
  return threads;
}

}  // namespace weft::parcel
