// Thread domains: a provider takes no locks for queue pairs of one, since one thread at a time uses them.
#pragma once

#include "network/ibv/verbs/rdma_device.hpp"

#include <cstdint>

namespace weft::network::ibv {

/// Which queue pairs share one. In the order of the choices of attribute ibv_thread_domains.
enum class ThreadDomains : std::uint8_t { all_qp, per_qp, none };

/// A thread domain and the protection domain for queue pairs in it. Outlives them.
class ThreadDomain {
 public:
  /// None.
  ThreadDomain() noexcept = default;
  /// None where the device has none, or none left.
  explicit ThreadDomain(const Device& device) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return domain_ != nullptr; }
  /// The protection domain that queue pairs are made in: that of the device itself where there is none.
  [[nodiscard]] ibv_pd& domain_on(const Device& device) const noexcept {
    return domain_ != nullptr ? *domain_ : device.domain();
  }

 private:
  Owned<ibv_td, &Verbs::dealloc_td> thread_;
  ProtectionDomain domain_;
};

}  // namespace weft::network::ibv
