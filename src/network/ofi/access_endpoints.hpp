// The endpoints of a device for puts and gets of regions.
#pragma once

#include "network/ofi/libfabric/endpoint_objects.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::network::ofi {

/// Two endpoints, because an access that is refused breaks the connection that has brought it: peers'
/// accesses come to one, and this rank's leave from the other, which can be closed to end them.
class AccessEndpoints {
 public:
  /// Throws weft::Error.
  explicit AccessEndpoints(const Fabric& fabric);

  /// Where peers' accesses come to.
  [[nodiscard]] std::vector<std::byte> address() const { return address_of(fabric_, *incoming_); }
  /// Returns where accesses to a peer go; FI_ADDR_UNSPEC when its address cannot be used.
  [[nodiscard]] fi_addr_t insert(std::span<const std::byte> address) noexcept;
  [[nodiscard]] fid_cq& completions() const noexcept { return *completions_.queue; }
  [[nodiscard]] int wait_descriptor() const noexcept { return completions_.wait_descriptor; }
  /// Where accesses leave from; null after a restart that has failed.
  [[nodiscard]] fid_ep* outgoing() const noexcept { return outgoing_.get(); }
  /// Ends all accesses of this rank: those that are under way complete with an error, and touch no memory of
  /// this rank any more. Throws weft::Error.
  void restart();
  /// Ends everything; nothing else may be called afterwards.
  void close() noexcept {
    outgoing_.reset();
    incoming_.reset();
  }

 private:
  const Fabric& fabric_;
  const Owned<fid_av> addresses_;
  const Completions completions_;
  Owned<fid_ep> incoming_;
  Owned<fid_ep> outgoing_;
  const std::size_t address_bytes_ = address().size();  // what the provider reads of a peer's, too
};

}  // namespace weft::network::ofi
