#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perf/libraries/catalogue.hpp"

namespace weft::tools::perf {

/// Rounds of `ucx_perftest`, as a peer to compare with. Server and client connect over loopback, on a port
/// that is free at the moment, and exchange messages through shared memory.
class UcxPeer {
 public:
  UcxPeer(std::vector<int> processors, double seconds);

  /// Tries the transports and finds the number of messages of a round. Returns false, with remark(), when
  /// there is nothing to compare with.
  bool prepare(Workload workload, std::size_t size);
  /// Returns messages per second, or nanoseconds one way. Throws weft::Error.
  double run(Workload workload, std::size_t size);

  /// The transport that was used, or the reason why none was: one line.
  [[nodiscard]] const std::string& remark() const { return remark_; }

 private:
  struct Setting {
    std::string transport;
    double messages_per_second = 0;
  };
  double run(Workload workload, std::size_t size, const std::string& transport, std::uint64_t messages);

  std::vector<int> processors_;
  double seconds_;
  std::string program_;
  std::string remark_;
  std::map<std::pair<Workload, std::size_t>, Setting> settings_;
};

}  // namespace weft::tools::perf
